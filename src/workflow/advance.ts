import { jobKey, type Launcher, type Observation } from "../launch/index.ts";
import {
  classify,
  endReason,
  ingestPayloadEvents,
  TERMINAL_STATES,
  type Attempt,
  type Lease,
  type PayloadLine,
  type Run,
} from "../track/index.ts";
import { collectCheckpoints } from "./collect-checkpoints.ts";
import { afterEnd, endAttempt } from "./end-attempt.ts";
import { withLease } from "./lease.ts";
import { move } from "./move.ts";
import { checkProof, type ProofResult } from "./proof.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { ensureSubmitted, launcherOf, openAttempt, refsOf } from "./submit.ts";

export interface Advance {
  readonly run: Run;
  /** What the payload said since the last time. */
  readonly lines: readonly PayloadLine[];
  /** Another controller acts on this run. */
  readonly heldBy: string | null;
}

/** `watch`: do what follows. `look`: only record what has become of the job; start nothing and do not count as a watcher. */
export type Purpose = "watch" | "look";

/**
 * One look at a run, and what follows from it by rule: submit what was intended, take in what the payload wrote, end the
 * attempt that has ended, open the next where the reason table allows it. Safe to call from several controllers.
 */
export const advanceRun = async (shop: Shop, runId: string, purpose: Purpose = "watch"): Promise<Advance> => {
  const before = shop.store.getRun(runId);
  if (TERMINAL_STATES.includes(before.state)) return { run: before, lines: [], heldBy: null };
  const held = await withLease(shop, runId, async (lease) =>
    act(shop, lease, { run: shop.store.getRun(runId), purpose }),
  );
  if (held.outcome === "done") return { ...held.result, heldBy: null };
  return { run: shop.store.getRun(runId), lines: [], heldBy: held.owner };
};

interface Look {
  readonly run: Run;
  readonly purpose: Purpose;
}

async function act(shop: Shop, lease: Lease, { run, purpose }: Look): Promise<Omit<Advance, "heldBy">> {
  if (TERMINAL_STATES.includes(run.state)) return { run, lines: [] };
  const attempt = openAttempt(shop, run);
  const isSent = attempt !== undefined && refsOf(attempt).length > 0;
  if (purpose === "look" && !isSent) return { run, lines: [] };
  if (attempt === undefined) return { run: await withoutAttempt(shop, lease, run), lines: [] };
  if (refsOf(attempt).length === 0) return { run: await ensureSubmitted(shop, lease, run), lines: [] };
  const accepted = SUBMITTING.has(run.state) ? await ensureSubmitted(shop, lease, run) : run;
  return watch(shop, lease, { run: accepted, purpose }, attempt);
}

const SUBMITTING = new Set<Run["state"]>(["submitting", "ambiguous"]);
// With no attempt open, these only mean that a controller was killed right after it had recorded the end.
const UNDER_WAY = new Set<Run["state"]>(["queued", "starting", "running", "cancelling"]);

async function withoutAttempt(shop: Shop, lease: Lease, run: Run): Promise<Run> {
  const ended = shop.store.attempts(run.id).at(-1);
  if (ended !== undefined && UNDER_WAY.has(run.state)) return afterEnd(shop, lease, run, ended);
  if (run.stopRequested) {
    return move(shop, lease, run, { to: "cancelled", reason: "stopped before it was started" });
  }
  return ended !== undefined && isTooEarly(shop, run, ended) ? run : ensureSubmitted(shop, lease, run);
}

const RETRY_MILLISECONDS = 60_000;

// A machine that was unfit a second ago still is.
function isTooEarly(shop: Shop, run: Run, { reason, endedAt }: Attempt): boolean {
  if (run.state !== "recovering" || endReason(reason ?? "").retry !== "wait") return false;
  return shop.clock.now() - Date.parse(endedAt ?? "") < RETRY_MILLISECONDS;
}

async function watch(
  shop: Shop,
  lease: Lease,
  { run, purpose }: Look,
  attempt: Attempt,
): Promise<Omit<Advance, "heldBy">> {
  const launcher = await launcherOf(shop, run);
  const observation = await observe(launcher, attempt);
  // Read after the look: what an ended job wrote is all there then.
  const lines = await takeIn(shop, lease, launcher, attempt);
  if (observation.phase === "live") {
    if (purpose === "watch") shop.store.markSeen(lease);
    forgetAbsence(shop, lease, attempt);
    return { run: await whileLive(shop, lease, run, { launcher, attempt }), lines };
  }
  const proof = await proofOf(observation, run);
  const ending = classify(observation, {
    stopRequested: run.stopRequested,
    proof: proof.holds,
    lastEvent: lastEvent(shop, run, attempt),
    absenceProven: observation.phase === "absent" && absentBefore(shop, attempt),
  });
  if (ending === null) {
    if (observation.phase === "absent") noteAbsence(shop, lease, attempt);
    return { run, lines };
  }
  if (run.kind === "train") await collectCheckpoints(shop, run);
  const ended = endAttempt(shop, lease, run, { attempt, observation, ending, proof: proof.detail });
  return { run: ended, lines };
}

// Hashing a large checkpoint takes minutes; where the program failed, no proof could change the outcome.
async function proofOf(observation: Observation, run: Run): Promise<ProofResult> {
  const mayHold = observation.phase === "ended" && observation.result?.exitCode === 0;
  return mayHold ? checkProof(lockOf(run)) : { holds: false, detail: "" };
}

async function observe(launcher: Launcher, attempt: Attempt): Promise<Observation> {
  const refs = refsOf(attempt);
  const seen = await launcher.observe(refs);
  const [ref] = refs;
  return (ref && seen.get(jobKey(ref))) ?? { phase: "unavailable", detail: "the launcher gave no answer" };
}

async function takeIn(
  shop: Shop,
  lease: Lease,
  launcher: Launcher,
  attempt: Attempt,
): Promise<readonly PayloadLine[]> {
  const [ref] = refsOf(attempt);
  if (ref === undefined) return [];
  const artifacts = launcher.artifacts(ref);
  return ingestPayloadEvents(shop.store, lease, async (start, end) =>
    artifacts.read("events.jsonl", start, end),
  );
}

async function whileLive(
  shop: Shop,
  lease: Lease,
  run: Run,
  { launcher, attempt }: { readonly launcher: Launcher; readonly attempt: Attempt },
): Promise<Run> {
  if (run.kind === "train") await collectCheckpoints(shop, run);
  if (run.stopRequested) {
    const [ref] = refsOf(attempt);
    if (ref && run.state !== "cancelling") await launcher.cancel(ref, "graceful");
    return move(shop, lease, run, { to: "cancelling", reason: "asked to save and stop" });
  }
  const started =
    shop.store.events(run.id, { attempt: attempt.number, types: ["started"], limit: 1 }).length > 0;
  if (!started) return run;
  return move(shop, lease, run, {
    to: "running",
    reason: attempt.number === 1 ? "running" : `running (attempt ${attempt.number})`,
  });
}

function lastEvent(shop: Shop, run: Run, attempt: Attempt): { type: string; code?: string } | null {
  const last = shop.store.events(run.id, { attempt: attempt.number, types: PAYLOAD_ENDS }).at(-1);
  if (last === undefined) return null;
  const { data } = last;
  const code = typeof data === "object" && data !== null && "code" in data ? String(data.code) : undefined;
  return { type: last.type, ...(code === undefined ? {} : { code }) };
}

const PAYLOAD_ENDS = ["finished", "stopped", "failed"];

const ABSENCE_MILLISECONDS = 60_000;

// One absent answer proves nothing; the first one starts a clock.
function absentBefore(shop: Shop, attempt: Attempt): boolean {
  const { evidence } = attempt;
  const since =
    typeof evidence === "object" && evidence !== null && "absentSince" in evidence
      ? Number(evidence.absentSince)
      : Infinity;
  return shop.clock.now() - since >= ABSENCE_MILLISECONDS;
}

// Seen again: a later absence starts its own clock.
function forgetAbsence(shop: Shop, lease: Lease, attempt: Attempt): void {
  if (attempt.evidence !== null) shop.store.updateAttempt(lease, attempt.number, { evidence: null });
}

function noteAbsence(shop: Shop, lease: Lease, attempt: Attempt): void {
  if (attempt.evidence === null) {
    shop.store.updateAttempt(lease, attempt.number, { evidence: { absentSince: shop.clock.now() } });
  }
}
