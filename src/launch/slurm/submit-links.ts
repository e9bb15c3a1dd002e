import { InternalError } from "../../core/errors.ts";
import type { Plan, Submission } from "../schema.ts";
import { isLasting } from "../transport/index.ts";
import { findJobs, refOf, type FindWorld } from "./find.ts";
import { isUnknownNode, readRefusal, type Refusal } from "./refusals.ts";
import { parseReply, type SubmittedJob } from "./reply.ts";
import { knownNodes } from "./known-nodes.ts";
import { excluding, exclusionOf, linksOf, sbatchArgv } from "./sbatch.ts";
import { clearLink, runLink, type LinkOutcome } from "./run-link.ts";

type LinkAnswer =
  | { readonly kind: "accepted"; readonly job: SubmittedJob; readonly begunAt: number }
  | Refusal;

/**
 * Submits these links of a plan, in their order. The first that is not accepted ends it. A cluster refuses every job that is to
 * avoid a node which it does not know, and nodes are taken away and renamed: such a name is left out, and the answer says so.
 */
export const submitLinks = async (
  plan: Plan,
  links: readonly number[],
  world: FindWorld,
): Promise<Submission> => {
  let known: Avoided | undefined;
  const jobs: { id: string; link: number; cluster: string | null }[] = [];
  let begunAt = 0;
  let refusal: Exclude<LinkAnswer, { kind: "accepted" }> | undefined;
  for (const link of links) {
    const answer = await submitLink(plan, link, { world, known });
    known ??= answer.known;
    if (answer.kind === "accepted") {
      jobs.push({ ...answer.job, link });
      ({ begunAt } = answer);
    } else {
      refusal = answer;
      break;
    }
  }
  const note = known?.note;
  if (refusal?.kind === "ambiguous") return { outcome: "ambiguous", reason: refusal.reason };
  if (jobs.length < linksOf(plan) && links.length < linksOf(plan))
    return completed(plan, world, { refusal, note });
  if (jobs.length === 0) return rejection(refusal);
  const ref = refOf(plan, jobs, begunAt);
  return { outcome: "accepted", refs: [ref], ...noted(jobs.length, plan, { refusal, note }) };
};

/** What can be avoided of what should be. */
interface Avoided {
  readonly nodes: readonly string[];
  readonly note: string;
}

type Noted = LinkAnswer & { readonly known?: Avoided };

async function submitLink(
  plan: Plan,
  link: number,
  { world, known }: { readonly world: FindWorld; readonly known: Avoided | undefined },
): Promise<Noted> {
  const argv = sbatchArgv(plan, link);
  if (known !== undefined) return runOnce(plan, link, { world, argv: excluding(argv, known.nodes) });
  const answer = await runOnce(plan, link, { world, argv });
  const wanted = exclusionOf(argv);
  if (answer.kind !== "permanent" || wanted === undefined || !isUnknownNode(answer.reason)) return answer;
  const asked = await knownNodes(wanted, world);
  // Not submitted: it is tried again.
  if (asked === undefined) return { kind: "unreachable", reason: answer.reason };
  const { nodes, unknown } = asked;
  // The cluster means another name: one of a list of nodes to take, for example.
  if (unknown.length === 0) return answer;
  const note = `not avoided, as the cluster does not know it: ${unknown.join(", ")}`;
  const again = await runOnce(plan, link, { world, argv: excluding(argv, nodes) });
  return { ...again, known: { nodes, note } };
}

async function runOnce(
  plan: Plan,
  link: number,
  { world, argv }: { readonly world: FindWorld; readonly argv: Plan["argv"] },
): Promise<LinkAnswer> {
  const outcome = await runLink(world.transport, plan, link, argv);
  switch (outcome.kind) {
    case "begun":
      return { kind: "ambiguous", reason: "somebody else is submitting it" };
    case "not-run":
      return notRun(outcome);
    case "unknown":
      return { kind: "ambiguous", reason: outcome.reason };
    case "ran":
      return readRun(plan, link, outcome, world);
    default:
      return unknownOutcome(outcome);
  }
}

function notRun({ reason, hint, code }: Extract<LinkOutcome, { kind: "not-run" }>): Refusal {
  if (code === undefined || !isLasting(code)) return { kind: "unreachable", reason };
  return { kind: "permanent", reason, ...(hint === undefined ? {} : { hint }) };
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
async function completed(plan: Plan, world: FindWorld, ending: Ending): Promise<Submission> {
  const found = await findJobs(plan, world);
  if (typeof found === "string") return { outcome: "ambiguous", reason: found };
  if (found.ref === undefined) return rejection(ending.refusal);
  return { outcome: "accepted", refs: [found.ref], ...noted(found.ref.jobs.length, plan, ending) };
}

const RETRIES = { wait: "no_capacity", unreachable: "unreachable" } as const;

function rejection(refusal: Exclude<Refusal, { kind: "ambiguous" }> | undefined): Submission {
  if (refusal === undefined) return { outcome: "ambiguous", reason: "no link was submitted" };
  const { reason } = refusal;
  if (refusal.kind !== "permanent") return { outcome: "rejected", reason, retry: RETRIES[refusal.kind] };
  const { hint } = refusal;
  return { outcome: "rejected", reason, ...(hint === undefined ? {} : { hint }) };
}

interface Ending {
  readonly refusal: Exclude<Refusal, { kind: "ambiguous" }> | undefined;
  readonly note: string | undefined;
}

function noted(count: number, plan: Plan, { refusal, note }: Ending): { readonly note?: string } {
  const isShorter = count < linksOf(plan);
  const shorter = `only ${count} of ${linksOf(plan)} links were accepted: ${refusal?.reason ?? "unknown"}`;
  const said = [...(isShorter ? [shorter] : []), ...(note === undefined ? [] : [note])];
  return said.length === 0 ? {} : { note: said.join("; ") };
}
