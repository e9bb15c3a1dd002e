import type { Plan, RefOf } from "../schema.ts";
import type { Desk } from "./desk.ts";
import { SPEC_TAG } from "./request.ts";
import type { JobStatus } from "./training-jobs.ts";

/** How a job is found again. */
export const refOf = (
  plan: Plan,
  desk: Pick<Desk, "profile">,
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
export const isOfPlan = async (plan: Plan, status: JobStatus, desk: Pick<Desk, "jobs">): Promise<boolean> => {
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
