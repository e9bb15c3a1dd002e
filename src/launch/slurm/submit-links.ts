import { InternalError } from "../../core/errors.ts";
import type { Plan, Submission } from "../schema.ts";
import { findJobs, refOf, type FindWorld } from "./find.ts";
import { readRefusal, type Refusal } from "./refusals.ts";
import { parseReply, type SubmittedJob } from "./reply.ts";
import { linksOf, sbatchArgv } from "./sbatch.ts";
import { clearLink, runLink, type LinkOutcome } from "./run-link.ts";

type LinkAnswer =
  | { readonly kind: "accepted"; readonly job: SubmittedJob; readonly begunAt: number }
  | Refusal;

/** Submits these links of a plan, in their order. The first that is not accepted ends it. */
export const submitLinks = async (
  plan: Plan,
  links: readonly number[],
  world: FindWorld,
): Promise<Submission> => {
  const jobs: { id: string; link: number; cluster: string | null }[] = [];
  let begunAt = 0;
  let refusal: Exclude<LinkAnswer, { kind: "accepted" }> | undefined;
  for (const link of links) {
    const answer = await submitLink(plan, link, world);
    if (answer.kind === "accepted") {
      jobs.push({ ...answer.job, link });
      ({ begunAt } = answer);
    } else {
      refusal = answer;
      break;
    }
  }
  if (refusal?.kind === "ambiguous") return { outcome: "ambiguous", reason: refusal.reason };
  if (jobs.length < linksOf(plan) && links.length < linksOf(plan)) return completed(plan, world, refusal);
  if (jobs.length === 0) return rejection(refusal);
  const ref = refOf(plan, jobs, begunAt);
  return { outcome: "accepted", refs: [ref], ...shorter(jobs.length, plan, refusal) };
};

async function submitLink(plan: Plan, link: number, world: FindWorld): Promise<LinkAnswer> {
  const outcome = await runLink(world.transport, plan, link, sbatchArgv(plan, link));
  switch (outcome.kind) {
    case "begun":
      return { kind: "ambiguous", reason: "somebody else is submitting it" };
    case "not-run":
      return { kind: "unreachable", reason: outcome.reason };
    case "unknown":
      return { kind: "ambiguous", reason: outcome.reason };
    case "ran":
      return readRun(plan, link, outcome, world);
    default:
      return unknownOutcome(outcome);
  }
}

function unknownOutcome(outcome: never): never {
  throw new InternalError("LINK_OUTCOME", `There is no outcome ${JSON.stringify(outcome)}`);
}

async function readRun(
  plan: Plan,
  link: number,
  outcome: Extract<LinkOutcome, { kind: "ran" }>,
  world: FindWorld,
): Promise<LinkAnswer> {
  const job = outcome.code === 0 ? parseReply(outcome.stdout) : undefined;
  if (job !== undefined) return { kind: "accepted", job, begunAt: outcome.begunAt };
  if (outcome.code === 0) {
    return { kind: "ambiguous", reason: `sbatch named no job: ${outcome.stdout.trim().slice(0, 200)}` };
  }
  const refusal = readRefusal(outcome.code, outcome.stderr);
  // A later try of the same plan begins this link anew.
  if (refusal.kind !== "ambiguous") await clearLink(world.transport, plan, link, 0);
  return refusal;
}

// Other links were there before: whoever asks for the refs gets all of them.
async function completed(
  plan: Plan,
  world: FindWorld,
  refusal: Exclude<Refusal, { kind: "ambiguous" }> | undefined,
): Promise<Submission> {
  const found = await findJobs(plan, world);
  if (typeof found === "string") return { outcome: "ambiguous", reason: found };
  if (found.ref === undefined) return rejection(refusal);
  return { outcome: "accepted", refs: [found.ref], ...shorter(found.ref.jobs.length, plan, refusal) };
}

const RETRIES = { wait: "no_capacity", unreachable: "unreachable" } as const;

function rejection(refusal: Exclude<Refusal, { kind: "ambiguous" }> | undefined): Submission {
  if (refusal === undefined) return { outcome: "ambiguous", reason: "no link was submitted" };
  const { reason } = refusal;
  if (refusal.kind !== "permanent") return { outcome: "rejected", reason, retry: RETRIES[refusal.kind] };
  const { hint } = refusal;
  return { outcome: "rejected", reason, ...(hint === undefined ? {} : { hint }) };
}

function shorter(
  count: number,
  plan: Plan,
  refusal: Exclude<Refusal, { kind: "ambiguous" }> | undefined,
): { readonly note?: string } {
  if (count >= linksOf(plan)) return {};
  return { note: `only ${count} of ${linksOf(plan)} links were accepted: ${refusal?.reason ?? "unknown"}` };
}
