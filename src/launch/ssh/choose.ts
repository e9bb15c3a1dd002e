import type { Submission } from "../schema.ts";
import { isLasting } from "../transport/index.ts";
import type { Problem } from "./ask-host.ts";
import { holderOf, type Look, type LookOutcome } from "./look.ts";

/** Hosts to try in this order, or the answer that no host can change. */
export type Choice =
  | { readonly kind: "try"; readonly looks: readonly Look[]; readonly bound: string | null }
  | { readonly kind: "answer"; readonly answer: Submission };

/**
 * Which hosts an attempt may be given to. Checkpoints lie on the host that made them (or on a disk they share), so a run that
 * has some goes on there and nowhere else: on another host it would begin at step 0. `excluded` are names of machines, or of hosts,
 * that were unfit for an earlier attempt: they come last. Pure.
 */
export const chooseHosts = (
  outcomes: readonly LookOutcome[],
  attempt: number,
  excluded: readonly string[] = [],
): Choice => {
  const inOrder = orderFor(excluded);
  const looks = outcomes.filter((outcome) => outcome.kind === "look");
  const silent = outcomes.filter((outcome) => outcome.kind === "problem");
  const held = holderOf(looks);
  if (held)
    return answer({ outcome: "ambiguous", reason: `the marker is already taken on ${held.host.name}` });
  const newest = Math.max(0, ...looks.map((look) => look.newest));
  if (newest > attempt) {
    return answer({ outcome: "rejected", reason: `attempt ${newest} has taken over this run` });
  }
  if (looks.length === 0) return answer(unreachable(silent));
  const working = looks.filter(({ work }) => work);
  if (working.length > 0) {
    return { kind: "try", looks: inOrder(working), bound: working.map(({ host }) => host.name).join(", ") };
  }
  if (attempt > 1 && silent.length > 0) {
    const names = silent.map(({ host }) => host.name).join(", ");
    return answer({
      outcome: "rejected",
      reason: `checkpoints of this run may lie on ${names}, which cannot be asked: ${silent[0]?.reason ?? ""}`,
      hint: "it waits for that host; if the host will not come back, start a new run with a profile without it",
      retry: "unreachable",
    });
  }
  return { kind: "try", looks: inOrder(looks), bound: null };
};

// A reservation of an earlier submission of this attempt first: nobody else can take what it holds. Then where events lie.
function orderFor(excluded: readonly string[]): (looks: readonly Look[]) => readonly Look[] {
  const names = new Set(excluded);
  const isExcluded = ({ node, host }: Look): boolean =>
    names.has(node) || names.has(host.name) || names.has(machineOf(host.name));
  const rank = (look: Look): number => (isExcluded(look) ? 3 : look.lease ? 0 : look.begun > 0 ? 1 : 2);
  return (looks) => looks.toSorted((a, b) => rank(a) - rank(b));
}

// Without user and port: an entry of the list is not a machine.
const machineOf = (name: string): string => name.replace(/^.*@/, "").replace(/:\d+$/, "");

const answer = (submission: Submission): Choice => ({ kind: "answer", answer: submission });

/** Nothing was started anywhere, and these are the reasons. */
export const unreachable = (problems: readonly Problem[]): Submission => {
  const hint = problems.find((problem) => problem.hint !== undefined)?.hint;
  const heals = problems.some(({ code }) => !isLasting(code));
  return {
    outcome: "rejected",
    reason: problems.map(({ reason }) => reason).join("; "),
    ...(hint === undefined ? {} : { hint }),
    ...(heals ? { retry: "unreachable" as const } : {}),
  };
};
