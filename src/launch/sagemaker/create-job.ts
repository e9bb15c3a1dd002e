import type { JobRef, Plan, Submission } from "../schema.ts";
import type { Desk } from "./desk.ts";
import { faultOf, faultText, isAnswer, LOGIN_HINT } from "./faults.ts";
import { isOfPlan, refOf } from "./own-job.ts";

const TRIES = 4;
const WAIT = 1000;

/**
 * Asks for the job, again after a lost reply: the service takes a name once, for ever. Once a request may have arrived, no
 * refusal of a later one says anything about it: that is `ambiguous`, until the job itself has been looked for.
 */
export const createJob = async (plan: Plan, desk: Desk): Promise<Submission> => {
  const { clock, jobs } = desk;
  let last: unknown = new Error("nobody has answered");
  let mayExist = false;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    try {
      await jobs.create(plan.request ?? {});
      return await accepted(plan, desk);
    } catch (error) {
      last = error;
      if (faultOf(error) === "in-use") return adopt(plan, desk, faultText(error));
      const refusal = refusalIn(error);
      if (refusal !== undefined) return mayExist ? doubtful(error) : refusal;
      mayExist ||= faultOf(error) !== "unsent";
    }
    if (attempt < TRIES) await clock.sleep(WAIT * 2 ** (attempt - 1));
  }
  const reason = faultText(last);
  return mayExist
    ? { outcome: "ambiguous", reason }
    : { outcome: "rejected", reason: `SageMaker was not reached: ${reason}`, retry: "unreachable" };
};

/** Certainly nothing was started, and a new login heals it. */
export const notLoggedIn = (reason: string): Submission => ({
  outcome: "rejected",
  reason,
  hint: LOGIN_HINT,
  retry: "unreachable",
});

const doubtful = (error: unknown): Submission => ({
  outcome: "ambiguous",
  reason: `${faultText(error)}; an earlier request for the same job may have arrived`,
});

// What this very request was refused with; undefined: ask again.
function refusalIn(error: unknown): Submission | undefined {
  const reason = faultText(error);
  switch (faultOf(error)) {
    case "credentials":
      return notLoggedIn(reason);
    case "over-limit":
      return overLimit(reason);
    case "refused":
    case "not-found":
      // A gateway on the way refuses with a number alone: the service has said nothing.
      if (!isAnswer(error)) return undefined;
      return isCapacity(reason)
        ? { outcome: "rejected", reason, retry: "no_capacity" }
        : { outcome: "rejected", reason, hint: hintFor(reason) };
    case "in-use":
    case "throttled":
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
