import type { Plan, PlannedFile, Submission } from "../schema.ts";
import { begunAttempt } from "./attempts.ts";
import { createJob, notLoggedIn } from "./create-job.ts";
import type { Desk } from "./desk.ts";
import { faultOf, faultText } from "./faults.ts";
import { bucketKeys } from "./keys.ts";
import { ensureObjects } from "./upload.ts";

const TRIES = 4;
const WAIT = 1000;

/**
 * Objects first, the job last. The name of the job is the marker and the service takes a name once, for ever: asking again
 * after a lost reply can start nothing twice. It is adopted when it was made from this very plan. Rejects with the signal's reason
 * when that aborts before there is a job.
 */
export const submitSageMaker = async (plan: Plan, desk: Desk): Promise<Submission> => {
  try {
    const refusal = (await newerAttempt(plan, desk)) ?? (await sendObjects(plan, desk));
    if (refusal !== undefined) return refusal;
  } catch (error) {
    // Nothing was started: the same plan can be sent again.
    desk.signal?.throwIfAborted();
    return beforeCreate(error);
  }
  desk.signal?.throwIfAborted();
  return createJob(plan, desk);
};

// The job does not exist yet: whatever went wrong, nothing was started.
function beforeCreate(error: unknown): Submission {
  const reason = faultText(error);
  const fault = faultOf(error);
  if (fault === "refused" || fault === "not-found")
    return { outcome: "rejected", reason, hint: "understudy doctor --on PROFILE says what is missing" };
  return fault === "credentials"
    ? notLoggedIn(reason)
    : { outcome: "rejected", reason, retry: "unreachable" };
}

async function newerAttempt(plan: Plan, { bucket, profile }: Desk): Promise<Submission | undefined> {
  const run = bucketKeys(profile).run(plan.runId);
  const numbers = (await bucket.folders(`${run}/attempts`)).map(Number).filter(Number.isInteger);
  const newest = Math.max(0, ...numbers);
  if (newest > plan.attempt.number)
    return { outcome: "rejected", reason: `attempt ${newest} has taken over this run` };
  const begun = await begunAttempt(bucket, plan.cwd);
  // A spot restart of an earlier job has begun this attempt by itself.
  if (begun !== undefined && begun.job !== plan.attempt.marker)
    return {
      outcome: "ambiguous",
      reason: `attempt ${plan.attempt.number} was begun by the job ${begun.job}`,
    };
  return undefined;
}

async function sendObjects(plan: Plan, desk: Desk): Promise<Submission | undefined> {
  const { bucket, profile, aws, signal } = desk;
  const kmsKey = profile.kmsKey ?? null;
  const { problems } = await ensureObjects(plan.uploads, { aws, bucket, kmsKey, signal });
  if (problems.length > 0)
    return {
      outcome: "rejected",
      reason: problems.join("; "),
      hint: "mend or pack the inputs, then start again",
    };
  const fence = bucketKeys(profile).fence(plan.runId);
  for (const file of plan.files.filter(({ path }) => path !== fence)) {
    if (await writeOnce(file, desk)) continue;
    return { outcome: "rejected", reason: `${file.path} belongs to another plan for the same attempt` };
  }
  // The template of this attempt is in the bucket now: of two who come at once, the earlier attempt sees the later one.
  const overtaken = await newerAttempt(plan, desk);
  if (overtaken !== undefined) return overtaken;
  for (const file of plan.files.filter(({ path }) => path === fence))
    await bucket.write(file.path, file.text);
  return undefined;
}

// True when the object is there with this text. Of two who write at once, one is told to look again.
async function writeOnce(file: PlannedFile, { bucket, clock }: Desk): Promise<boolean> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    if (await bucket.write(file.path, file.text, { onlyNew: true })) return true;
    const present = await bucket.readText(file.path);
    if (present !== undefined) return present === file.text;
    await clock.sleep(WAIT / 4);
  }
  throw new Error(`it cannot be told what ${file.path} holds`);
}
