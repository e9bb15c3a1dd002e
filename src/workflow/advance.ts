import { TERMINAL_STATES, type Attempt, type Lease, type PayloadLine, type Run } from "../track/index.ts";
import { nextAttemptAt } from "./budgets.ts";
import { afterEnd, attemptsSinceResume, continuationOf } from "./end-attempt.ts";
import { withLease } from "./lease.ts";
import { move } from "./move.ts";
import type { Shop } from "./shop.ts";
import { ensureSubmitted, openAttempt, refsOf } from "./submit.ts";
import { notesOf } from "./watch-notes.ts";
import { observeAttempt, watchAttempt, type Look, type Purpose, type Sight } from "./watch-attempt.ts";
import { heldByParent } from "./watch-parent.ts";

export type { Purpose };

export interface Advance {
  readonly run: Run;
  /** What the payload said since the last time. */
  readonly lines: readonly PayloadLine[];
  /** Another controller acts on this run. */
  readonly heldBy: string | null;
  /** Why nothing could be seen of its job this time; null when it was seen, or there is none to see. */
  readonly unavailable: string | null;
  /** Why it is not known whether it has a job, or why its machine could not be asked for one; null when neither is so. */
  readonly unanswered: string | null;
}

/**
 * One look at a run, and what follows from it by rule: submit what was intended, take in what the payload wrote, end the
 * attempt that has ended, open the next where the reason table allows it. Safe to call from several controllers. `sight`
 * is what was seen of its open attempt already, together with those of other runs; without it the launcher is asked.
 */
export const advanceRun = async (
  shop: Shop,
  runId: string,
  purpose: Purpose = "watch",
  sight?: Sight,
): Promise<Advance> => {
  const before = shop.store.getRun(runId);
  if (hasEnded(before)) return nothingNew(before);
  const held = await withLease(shop, runId, async (lease) =>
    act(shop, lease, { run: shop.store.getRun(runId), purpose }, sight),
  );
  if (purpose === "watch") shop.mirror?.follow(before);
  if (held.outcome === "done") return { ...held.result, heldBy: null };
  return { ...nothingNew(shop.store.getRun(runId)), heldBy: held.owner };
};

// A blocked one may be unblocked by a resume of what it waits for.
const hasEnded = ({ state }: Run): boolean => state !== "blocked" && TERMINAL_STATES.includes(state);

const nothingNew = (run: Run): Advance => ({
  run,
  lines: [],
  heldBy: null,
  unavailable: null,
  unanswered: null,
});

async function act(
  shop: Shop,
  lease: Lease,
  { run, purpose }: Pick<Look, "run" | "purpose">,
  sight: Sight | undefined,
): Promise<Advance> {
  if (hasEnded(run)) return nothingNew(run);
  const attempt = openAttempt(shop, run);
  if (attempt === undefined || refsOf(attempt).length === 0) {
    if (purpose === "look") return nothingNew(run);
    const sent = await unsent(shop, lease, run, attempt);
    return { ...nothingNew(sent), unanswered: unansweredOf(shop, sent) };
  }
  // Seen of an attempt that another controller has ended since: the next look is about the right one.
  if (sight !== undefined && sight.marker !== attempt.marker) return nothingNew(run);
  const accepted = SUBMITTING.has(run.state) ? await ensureSubmitted(shop, lease, run) : run;
  const observation = sight?.observation ?? (await observeAttempt(shop, accepted, attempt));
  const look = { run: accepted, purpose, attempt, observation, read: sight?.read };
  const { run: after, lines } = await watchAttempt(shop, lease, look);
  const unavailable = observation.phase === "unavailable" ? observation.detail : null;
  return { ...nothingNew(after), lines, unavailable };
}

function unansweredOf(shop: Shop, run: Run): string | null {
  const attempt = openAttempt(shop, run);
  const { unanswered, refused } = attempt ? notesOf(attempt) : {};
  if (run.state === "ambiguous") return unanswered ?? null;
  return run.state === "waiting" && refused?.why === "unreachable" ? refused.reason : null;
}

const SUBMITTING = new Set<Run["state"]>(["submitting", "ambiguous"]);
// With no attempt open, these only mean that a controller was killed right after it had recorded the end.
const UNDER_WAY = new Set<Run["state"]>(["queued", "starting", "running", "cancelling"]);
// What these mean was decided by the newest end; deciding it again from the same record gives the same.
const DECIDED = new Set<Run["state"]>(["recovering", "waiting"]);

/** A run without a job that anybody knows of. */
async function unsent(shop: Shop, lease: Lease, run: Run, attempt: Attempt | undefined): Promise<Run> {
  if (attempt !== undefined) return ensureSubmitted(shop, lease, run);
  const ended = shop.store.attempts(run.id).at(-1);
  if (ended !== undefined && hasMore(run, ended)) return afterEnd(shop, lease, run, ended);
  if (run.stopRequested) {
    return move(shop, lease, run, { to: "cancelled", reason: "stopped before it was started" });
  }
  const held = heldByParent(shop, lease, run);
  if (held) return held;
  if (ended === undefined || !DECIDED.has(run.state)) return ensureSubmitted(shop, lease, run);
  const decided = afterEnd(shop, lease, run, ended);
  const hasNext = openAttempt(shop, run) !== undefined;
  if (hasNext || !DECIDED.has(decided.state) || isTooEarly(shop, run)) return decided;
  return ensureSubmitted(shop, lease, decided);
}

// What follows from the newest end was not all recorded: a killed controller has not come to it, or the far side goes on with
// the next attempt.
const hasMore = ({ state }: Run, ended: Attempt): boolean =>
  UNDER_WAY.has(state) ||
  // Only a person's decision ends an attempt of such a run.
  state === "ambiguous" ||
  (DECIDED.has(state) && continuationOf(ended) !== undefined);

function isTooEarly(shop: Shop, run: Run): boolean {
  const next = nextAttemptAt(attemptsSinceResume(shop, run));
  return next !== null && shop.clock.now() < next;
}
