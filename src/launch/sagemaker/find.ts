import type { Finding, Plan } from "../schema.ts";
import { blindness } from "./account.ts";
import { begunAttempt } from "./attempts.ts";
import type { Desk } from "./desk.ts";
import { unavailableText } from "./faults.ts";
import { isOfPlan, refOf } from "./own-job.ts";

/**
 * Settles a lost reply: the name is the marker, so there is one job to ask for. Any failed question is
 * `unavailable`, and so is an answer to somebody who could not see the job if there were one.
 */
export const findSageMaker = async (plan: Plan, desk: Desk): Promise<Finding> => {
  try {
    const status = await desk.jobs.describe(plan.attempt.marker);
    if (status !== undefined) {
      return (await isOfPlan(plan, status, desk))
        ? { outcome: "found", refs: [refOf(plan, desk, status)] }
        : {
            outcome: "unavailable",
            reason: `there is a training job ${status.name}, and it was made from another plan`,
          };
    }
    const begun = await begunAttempt(desk.bucket, plan.cwd);
    if (begun === undefined) {
      const blind = await blindness(desk);
      return blind === undefined ? { outcome: "none" } : { outcome: "unavailable", reason: blind };
    }
    // A spot restart of an earlier attempt's job.
    const carrier = await desk.jobs.describe(begun.job);
    return carrier === undefined
      ? {
          outcome: "unavailable",
          reason: `attempt ${plan.attempt.number} was begun by ${begun.job}, which is gone`,
        }
      : { outcome: "found", refs: [refOf(plan, desk, carrier)] };
  } catch (error) {
    return { outcome: "unavailable", reason: unavailableText(error) };
  }
};
