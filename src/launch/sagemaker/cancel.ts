import { RemoteError } from "../../core/errors.ts";
import type { RefOf } from "../schema.ts";
import { blindness } from "./account.ts";
import type { Desk } from "./desk.ts";
import { faultText } from "./faults.ts";
import { bucketKeys } from "./keys.ts";
import { meaningOf } from "./states.ts";

/**
 * Asks the service to stop one job, by its name. The container gets TERM and saves; 120 seconds later it is killed, so both
 * ways of cancelling are the same here. Word of it is left first: afterwards nobody could tell whose stop it was.
 */
export const cancelSageMaker = async (
  ref: RefOf<"sagemaker">,
  desk: Desk,
): Promise<"requested" | "already-ended"> => {
  if (await hasEnded(ref, desk)) return "already-ended";
  const key = bucketKeys(desk.profile).cancel(ref.job);
  const isFirst = await desk.bucket.write(key, `${desk.clock.now()}\n`, { onlyNew: true });
  try {
    await desk.jobs.stop(ref.job);
    return "requested";
  } catch (error) {
    // It ended in this moment, or is being stopped: the service refuses both with the same word.
    if (error instanceof Error && error.name === "ValidationException") {
      if (!(await hasEnded(ref, desk))) return "requested";
      if (isFirst) await desk.bucket.remove(key);
      return "already-ended";
    }
    throw new RemoteError(
      "CANCEL_UNANSWERED",
      `SageMaker did not answer the stop of ${ref.job}: ${faultText(error)}`,
      {
        hint: "run the same command again: stopping twice does no harm",
        cause: error,
      },
    );
  }
};

async function hasEnded(ref: RefOf<"sagemaker">, desk: Desk): Promise<boolean> {
  try {
    const status = await desk.jobs.describe(ref.job);
    if (status === undefined) throw await unseen(ref, desk);
    return meaningOf(status).phase === "ended";
  } catch (error) {
    if (error instanceof RemoteError) throw error;
    throw new RemoteError(
      "CANCEL_UNANSWERED",
      `SageMaker did not say how ${ref.job} is: ${faultText(error)}`,
      {
        hint: "run the same command again",
        cause: error,
      },
    );
  }
}

async function unseen({ job, region }: RefOf<"sagemaker">, desk: Desk): Promise<RemoteError> {
  const blind = await blindness(desk, region);
  return blind === undefined
    ? new RemoteError("JOB_MISSING", `There is no training job ${job} in ${region}`, {
        hint: "was it deleted? understudy run show says what was seen of it last",
      })
    : new RemoteError("CANCEL_UNANSWERED", `${job} was not stopped: ${blind}`, {
        hint: "run the same command again with the credentials of the job's account",
      });
}
