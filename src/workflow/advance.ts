import { jobKey, type Launcher, type Observation } from "../launch/index.ts";
import {
  classify,
  endReason,
  ingestPayloadEvents,
  TERMINAL_STATES,
  type Attempt,
  type Ending,
  type Lease,
  type PayloadLine,
  type Run,
} from "../track/index.ts";
import { hasBudget } from "./budgets.ts";
import { collectCheckpoints } from "./collect-checkpoints.ts";
import { withLease } from "./lease.ts";
import { move } from "./move.ts";
import { checkProof } from "./proof.ts";
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

/**
 * One look at a run, and what follows from it by rule: submit what was intended, take in what the payload wrote, end the
 * attempt that has ended, open the next where the reason table allows it. Safe to call from several controllers.
 */
export const advanceRun = async (shop: Shop, runId: string): Promise<Advance> => {
  const before = shop.store.getRun(runId);
  if (TERMINAL_STATES.includes(before.state)) return { run: before, lines: [], heldBy: null };
  const held = await withLease(shop, runId, async (lease) => act(shop, lease, shop.store.getRun(runId)));
  if (held.outcome === "done") return { ...held.result, heldBy: null };
  return { run: shop.store.getRun(runId), lines: [], heldBy: held.owner };
};

async function act(shop: Shop, lease: Lease, run: Run): Promise<Omit<Advance, "heldBy">> {
  if (TERMINAL_STATES.includes(run.state)) return { run, lines: [] };
  const attempt = openAttempt(shop, run);
  if (attempt === undefined || refsOf(attempt).length === 0) {
    if (run.stopRequested && attempt === undefined) {
      return {
        run: move(shop, lease, run, { to: "cancelled", reason: "stopped before it was started" }),
        lines: [],
      };
    }
    return { run: await ensureSubmitted(shop, lease, run), lines: [] };
  }
  return watch(shop, lease, run, attempt);
}

async function watch(shop: Shop, lease: Lease, run: Run, attempt: Attempt): Promise<Omit<Advance, "heldBy">> {
  const launcher = await launcherOf(shop, run);
  const observation = await observe(launcher, attempt);
  // Read after the look: what an ended job wrote is all there then.
  const lines = await takeIn(shop, lease, launcher, attempt);
  if (observation.phase === "live") {
    shop.store.markSeen(lease);
    return { run: await whileLive(shop, lease, run, { launcher, attempt }), lines };
  }
  const proof = observation.phase === "ended" ? await checkProof(lockOf(run)) : { holds: false, detail: "" };
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
  const last = shop.store
    .events(run.id, { attempt: attempt.number })
    .findLast(({ type }) => PAYLOAD_ENDS.has(type));
  if (last === undefined) return null;
  const { data } = last;
  const code = typeof data === "object" && data !== null && "code" in data ? String(data.code) : undefined;
  return { type: last.type, ...(code === undefined ? {} : { code }) };
}

const PAYLOAD_ENDS = new Set(["finished", "stopped", "failed"]);

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

function noteAbsence(shop: Shop, lease: Lease, attempt: Attempt): void {
  if (attempt.evidence === null) {
    shop.store.updateAttempt(lease, attempt.number, { evidence: { absentSince: shop.clock.now() } });
  }
}

function endAttempt(
  shop: Shop,
  lease: Lease,
  run: Run,
  end: {
    readonly attempt: Attempt;
    readonly observation: Observation;
    readonly ending: Ending;
    readonly proof: string;
  },
): Run {
  const { attempt, observation, ending, proof } = end;
  shop.store.endAttempt(lease, attempt.number, {
    reason: ending.name,
    exitCode: ending.exitCode,
    evidence: { observation, proof },
  });
  const { retry, budget } = endReason(ending.name);
  if (retry !== "none" && !run.stopRequested && hasBudget(shop.store.attempts(run.id), budget)) {
    return move(shop, lease, run, {
      to: "recovering",
      reason: `${ending.detail}; it goes on in another attempt`,
    });
  }
  const words =
    ending.name === "no_proof"
      ? `${ending.detail}: ${proof}`
      : withFailure(shop, run, attempt, ending.detail);
  return move(shop, lease, run, { to: ending.status, reason: words });
}

// The payload's own sentence says more than an exit code.
function withFailure(shop: Shop, run: Run, attempt: Attempt, detail: string): string {
  const failed = shop.store.events(run.id, { attempt: attempt.number, types: ["failed"] }).at(-1)?.data;
  if (typeof failed !== "object" || failed === null || !("message" in failed)) return detail;
  return `${detail}: ${String(failed.message)}`;
}
