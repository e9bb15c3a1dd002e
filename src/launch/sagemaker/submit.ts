import type { Clock } from "../../core/clock.ts";
import type { JobRef, Plan, PlannedFile, RefOf, Submission } from "../schema.ts";
import type { Aws } from "./aws.ts";
import { begunAttempt } from "./attempts.ts";
import type { Bucket } from "./bucket.ts";
import { faultOf, faultText, LOGIN_HINT } from "./faults.ts";
import { bucketKeys } from "./keys.ts";
import type { SageMakerProfile } from "./launcher.ts";
import { SPEC_TAG } from "./request.ts";
import type { JobStatus, TrainingJobs } from "./training-jobs.ts";
import { ensureObjects } from "./upload.ts";

/** What the parts of this launcher share. */
export interface Desk {
  readonly profile: SageMakerProfile;
  readonly aws: Aws;
  readonly jobs: TrainingJobs;
  readonly bucket: Bucket;
  readonly clock: Clock;
  /** Ends what is sent before there is a job. */
  readonly signal?: AbortSignal | undefined;
}

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
  return create(plan, desk);
};

/** How a job is found again. */
export const refOf = (
  plan: Plan,
  desk: Desk,
  status: Pick<JobStatus, "name" | "createdAt">,
): RefOf<"sagemaker"> => ({
  kind: "sagemaker",
  marker: plan.attempt.marker,
  folder: plan.cwd,
  region: desk.profile.region,
  job: status.name,
  submittedAt: status.createdAt,
});

/** Whether a job of this name was made from this plan. */
export const isOfPlan = async (plan: Plan, status: JobStatus, desk: Desk): Promise<boolean> => {
  const tags = await desk.jobs.tags(status.arn);
  return tags[SPEC_TAG] !== undefined && tags[SPEC_TAG] === specOf(plan);
};

function specOf(plan: Plan): string | undefined {
  const tags: unknown = plan.request?.["Tags"];
  if (!Array.isArray(tags)) return undefined;
  for (const tag of tags as readonly unknown[]) {
    if (typeof tag !== "object" || tag === null || !("Key" in tag) || !("Value" in tag)) continue;
    if (tag.Key === SPEC_TAG && typeof tag.Value === "string") return tag.Value;
  }
  return undefined;
}

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

const notLoggedIn = (reason: string): Submission => ({
  outcome: "rejected",
  reason,
  hint: LOGIN_HINT,
  retry: "unreachable",
});

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

async function create(plan: Plan, desk: Desk): Promise<Submission> {
  const { clock, jobs } = desk;
  let last: unknown = new Error("nobody has answered");
  // Once anything may have arrived, "not reached" says nothing about the first time.
  let mayExist = false;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    try {
      await jobs.create(plan.request ?? {});
      return await accepted(plan, desk);
    } catch (error) {
      last = error;
      if (faultOf(error) === "credentials") break;
      const answer = await answerTo(error, plan, desk);
      if (answer !== undefined) return answer;
      mayExist ||= faultOf(error) !== "unsent";
    }
    if (attempt < TRIES) await clock.sleep(WAIT * 2 ** (attempt - 1));
  }
  const reason = faultText(last);
  if (mayExist) return { outcome: "ambiguous", reason };
  return faultOf(last) === "credentials"
    ? notLoggedIn(reason)
    : { outcome: "rejected", reason: `SageMaker was not reached: ${reason}`, retry: "unreachable" };
}

// Undefined: ask again.
async function answerTo(error: unknown, plan: Plan, desk: Desk): Promise<Submission | undefined> {
  const reason = faultText(error);
  switch (faultOf(error)) {
    case "in-use":
      return adopt(plan, desk, reason);
    case "over-limit":
      return overLimit(reason);
    case "refused":
    case "not-found":
      return isCapacity(reason)
        ? { outcome: "rejected", reason, retry: "no_capacity" }
        : { outcome: "rejected", reason, hint: hintFor(reason) };
    case "throttled":
    case "credentials":
    case "unsent":
    case "unclear":
      return undefined;
    default:
      return undefined;
  }
}

async function adopt(plan: Plan, desk: Desk, reason: string): Promise<Submission> {
  try {
    const status = await desk.jobs.describe(plan.attempt.marker);
    if (status === undefined) return { outcome: "ambiguous", reason };
    if (await isOfPlan(plan, status, desk)) return { outcome: "accepted", refs: [refOf(plan, desk, status)] };
    return {
      outcome: "rejected",
      reason: `there is a training job ${status.name} already, and it was made from another plan`,
      hint: "start a new run: the name of a training job is never free again",
    };
  } catch (error) {
    return { outcome: "ambiguous", reason: `${reason}; it could not be compared: ${faultText(error)}` };
  }
}

async function accepted(plan: Plan, desk: Desk): Promise<Submission> {
  const refs = async (): Promise<readonly JobRef[]> => {
    try {
      const status = await desk.jobs.describe(plan.attempt.marker);
      if (status !== undefined) return [refOf(plan, desk, status)];
    } catch {
      // It was accepted; its own time of creation is only nicer than ours.
    }
    return [refOf(plan, desk, { name: plan.attempt.marker, createdAt: desk.clock.now() })];
  };
  return { outcome: "accepted", refs: await refs() };
}

/** A quota that is smaller than the request never heals by itself; one that is used up does. */
function overLimit(reason: string): Submission {
  const [, limit, delta] = /is (\d+) \w+.*request delta of (\d+)/is.exec(reason) ?? [];
  if (limit !== undefined && delta !== undefined && Number(delta) > Number(limit)) {
    return {
      outcome: "rejected",
      reason,
      hint: `the quota of this account is ${limit}, the job needs ${delta}: ask for it in Service Quotas (training job usage; spot has one of its own), or take another instance type or region`,
    };
  }
  return { outcome: "rejected", reason, retry: "no_capacity" };
}

const isCapacity = (reason: string): boolean =>
  /CapacityError|insufficient capacity|InsufficientCapacity/i.test(reason);

function hintFor(reason: string): string {
  if (/AccessDenied|not authorized/i.test(reason))
    return "the credentials or the role lack a permission: understudy doctor --on PROFILE";
  if (/role/i.test(reason)) return "the role must exist, and trust sagemaker.amazonaws.com";
  return "the request is in understudy run start --dry-run";
}
