import { jobKey, type JobKey, type JobRef, type Observation, type RefOf } from "../schema.ts";
import { blindness } from "./account.ts";
import { arrivalProblem } from "./arrivals.ts";
import { attemptResult, begunAttempt, nextAttempt } from "./attempts.ts";
import type { Desk } from "./desk.ts";
import { unavailableText } from "./faults.ts";
import { bucketKeys, siblingMarker } from "./keys.ts";
import { isBeforeStart, meaningOf, statusText, type Meaning } from "./states.ts";
import { statuses, type StatusAnswer } from "./statuses.ts";
import type { JobStatus } from "./training-jobs.ts";

type Ref = RefOf<"sagemaker">;

/** Observations of any number of jobs, each at most once in the profile's poll time. */
export interface Observer {
  observe(refs: readonly JobRef[]): Promise<ReadonlyMap<JobKey, Observation>>;
  /** What was seen of a job is no longer so: ask next time. */
  forget(job: string): void;
}

export const observer = (desk: Desk): Observer => {
  const known = new Map<JobKey, { readonly at: number; readonly job: string; readonly seen: Observation }>();
  const asker = statuses(desk.jobs);
  const isFresh = (ref: Ref): boolean => {
    const entry = known.get(jobKey(ref));
    if (entry === undefined) return false;
    // What has ended with a result stays as it is.
    if (entry.seen.phase === "ended" && entry.seen.result !== null) return true;
    return desk.clock.now() - entry.at < desk.profile.pollSeconds * 1000;
  };
  return {
    forget: (job) => {
      for (const [key, entry] of known) if (entry.job === job) known.delete(key);
    },
    observe: async (refs) => {
      const own = refs.filter((ref): ref is Ref => ref.kind === "sagemaker");
      const due = own.filter((ref) => !isFresh(ref));
      const answers = due.length === 0 ? new Map<string, StatusAnswer>() : await asker.of(due);
      const seen = new Map<JobKey, Observation>();
      for (const ref of own) {
        const answer = answers.get(ref.job);
        const kept = known.get(jobKey(ref))?.seen;
        const now = answer === undefined || !due.includes(ref) ? kept : await observation(ref, answer, desk);
        if (now === undefined) continue;
        seen.set(jobKey(ref), now);
        // A question that failed is asked again at once.
        if (now !== kept && now.phase !== "unavailable")
          known.set(jobKey(ref), { at: desk.clock.now(), job: ref.job, seen: now });
      }
      return seen;
    },
  };
};

async function observation(ref: Ref, answer: StatusAnswer, desk: Desk): Promise<Observation> {
  if (answer === null) return absent(ref, desk);
  if ("unavailable" in answer) return { phase: "unavailable", detail: answer.unavailable };
  try {
    const meaning = meaningOf(answer);
    const moved = await movedOn(ref, desk);
    if (moved !== undefined) return moved;
    return meaning.phase === "live" ? await live(ref, answer, desk) : await ended(ref, answer, meaning, desk);
  } catch (error) {
    // The service answered, the bucket did not: what is known of the end would be half the evidence.
    return { phase: "unavailable", detail: `${statusText(answer)}; the bucket: ${unavailableText(error)}` };
  }
}

async function absent({ job, region }: Ref, desk: Desk): Promise<Observation> {
  const blind = await blindness(desk, region);
  return blind === undefined
    ? { phase: "absent", detail: `there is no training job ${job}` }
    : { phase: "unavailable", detail: blind };
}

async function movedOn(ref: Ref, { bucket, profile }: Desk): Promise<Observation | undefined> {
  // Only managed spot training begins again under the same name.
  if (profile.spot === undefined) return undefined;
  const next = await nextAttempt(bucket, ref);
  if (next === undefined) return undefined;
  return {
    phase: "ended",
    result: await attemptResult(bucket, ref.folder, ref.marker),
    detail: `the spot instance was taken back; the job went on as attempt ${next.number}`,
    cause: "preempted",
    continues: {
      refs: [{ ...ref, folder: next.folder, marker: siblingMarker(ref.marker, next.number) }],
      token: next.begun.token,
    },
  };
}

async function live(ref: Ref, status: JobStatus, { bucket, clock }: Desk): Promise<Observation> {
  const meaning = meaningOf(status);
  const state = meaning.phase === "live" ? meaning.state : undefined;
  const problem = state === "running" ? await arrivalProblem(bucket, ref.folder, clock) : null;
  const text = statusText(status);
  return {
    phase: "live",
    detail: problem === null ? text : `${text}; ${problem}`,
    ...(problem === null ? {} : { warning: problem }),
    ...(state === undefined ? {} : { state }),
  };
}

async function ended(
  ref: Ref,
  status: JobStatus,
  { cause }: Extract<Meaning, { phase: "ended" }>,
  { bucket, profile }: Desk,
): Promise<Observation> {
  const result = await attemptResult(bucket, ref.folder, ref.marker);
  const detail = statusText(status);
  if (cause === "stopped") {
    const isOurs = (await bucket.head(bucketKeys(profile).cancel(ref.job))) !== undefined;
    return { phase: "ended", result, detail, cause: isOurs ? "cancelled" : "cancelled_by_other" };
  }
  if (result?.exitCode === 75 && cause === "failed")
    return { phase: "ended", result, detail, cause: "fenced" };
  if (cause === "failed" && result === null && isBeforeStart(status.failure)) {
    const begun = await begunAttempt(bucket, ref.folder);
    return { phase: "ended", result, detail, cause: begun === undefined ? "not_started" : "failed" };
  }
  return { phase: "ended", result, detail, cause };
}
