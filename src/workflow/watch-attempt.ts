import { messageOf, RemoteError } from "../core/errors.ts";
import { jobKey, type JobRef, type Launcher, type Observation } from "../launch/index.ts";
import {
  classify,
  ingestPayloadEvents,
  mayGo,
  type Attempt,
  type Evidence,
  type Lease,
  type PayloadLine,
  type ReadBytes,
  type Run,
} from "../track/index.ts";
import { collectCheckpoints, type RunFiles } from "./collect-checkpoints.ts";
import { endAttempt, givenUp } from "./end-attempt.ts";
import { move } from "./move.ts";
import { checkProof, type ProofResult } from "./proof.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";
import { liveState, warned } from "./watch-live.ts";
import { note, notesOf } from "./watch-notes.ts";
import { paceOf } from "./watch-pace.ts";
import { hasProgress } from "./watch-progress.ts";

/** `watch`: do what follows. `look`: only record what has become of the job; start nothing. */
export type Purpose = "watch" | "look";

/** What was seen of an attempt, before its run was taken hold of. */
export interface Sight {
  readonly marker: string;
  readonly observation: Observation;
  /** Reads the run's events; what has been read already is not asked for again. */
  readonly read?: ReadBytes;
}

export interface Look {
  readonly run: Run;
  readonly purpose: Purpose;
  readonly attempt: Attempt;
  readonly observation: Observation;
  readonly read: ReadBytes | undefined;
}

/** What can be seen of an attempt now: whatever goes wrong with the question, it is `unavailable`. */
export const observeAttempt = async (shop: Shop, run: Run, attempt: Attempt): Promise<Observation> => {
  const refs = refsOf(attempt);
  try {
    const seen = await (await launcherOf(shop, run)).observe(refs);
    return sightOf(refs, seen);
  } catch (error) {
    return { phase: "unavailable", detail: messageOf(error) };
  }
};

/** The observation of an attempt among those of many. */
export const sightOf = (refs: readonly JobRef[], seen: ReadonlyMap<string, Observation>): Observation => {
  const [ref] = refs;
  return (ref && seen.get(jobKey(ref))) ?? { phase: "unavailable", detail: "the launcher gave no answer" };
};

/** Reads events of a run where its job writes them. */
export const readEvents =
  (launcher: Launcher, ref: JobRef): ReadBytes =>
  async (start, end) =>
    launcher.artifacts(ref).read("events.jsonl", start, end);

interface Seen {
  readonly run: Run;
  readonly lines: readonly PayloadLine[];
}

/** What follows from what was seen of an attempt that has jobs. `unavailable` moves nothing. */
export const watchAttempt = async (shop: Shop, lease: Lease, look: Look): Promise<Seen> => {
  const { run, purpose, attempt, observation } = look;
  const [ref] = refsOf(attempt);
  if (ref === undefined) return { run, lines: [] };
  const launcher = await launcherOf(shop, run);
  if (observation.phase === "unavailable") {
    if (purpose === "watch") await stopUnseen(shop, lease, { run, attempt, launcher });
    return { run, lines: [] };
  }
  const isLive = observation.phase === "live";
  if (isLive) shop.store.markSeen(lease);
  const where = { files: launcher.artifacts(ref), ref };
  const lines = await takeIn(shop, lease, look, { read: look.read ?? readEvents(launcher, ref), where });
  if (isLive) return { run: await whileLive(shop, lease, look, launcher), lines };
  return { run: await whenOver(shop, lease, look, where), lines };
};

// Read after the look: what an ended job wrote is all there then.
async function takeIn(
  shop: Shop,
  lease: Lease,
  { run, observation }: Look,
  from: { readonly read: ReadBytes; readonly where: RunFiles },
): Promise<readonly PayloadLine[]> {
  const isLive = observation.phase === "live";
  if (isLive && observation.state === "queued") return [];
  const lines = await ingestPayloadEvents(shop.store, lease, from.read);
  if (run.kind === "train" && (!isLive || hasNewCheckpoint(shop, run, lines))) {
    await collectCheckpoints(shop, run, from.where);
    shop.collected.add(run.id);
  }
  return lines;
}

async function whenOver(shop: Shop, lease: Lease, look: Look, where: RunFiles): Promise<Run> {
  const { run, attempt, observation } = look;
  const proof = await proofOf(look, async () => checkProof(lockOf(run), where));
  const ending = classify(observation, evidenceOf(shop, look, proof));
  if (ending) return endAttempt(shop, lease, run, { attempt, observation, ending, proof: proof.detail });
  waitFor(shop, lease, look);
  return run;
}

// Whoever watched before may have been killed between the event and the look for the checkpoint: until one look worked,
// every one counts.
function hasNewCheckpoint(shop: Shop, run: Run, lines: readonly PayloadLine[]): boolean {
  if (lines.some(({ type }) => type === "checkpoint")) shop.collected.delete(run.id);
  return !shop.collected.has(run.id);
}

// Hashing a large checkpoint takes minutes; where the program failed, no proof could change the outcome.
async function proofOf({ observation }: Look, check: () => Promise<ProofResult>): Promise<ProofResult> {
  const mayHold = observation.phase === "ended" && observation.result?.exitCode === 0;
  return mayHold ? check() : { holds: false, detail: "" };
}

function evidenceOf(shop: Shop, { run, attempt, observation }: Look, proof: ProofResult): Evidence {
  const { lag, absence } = paceOf(lockOf(run).job.profile);
  const notes = notesOf(attempt);
  const now = shop.clock.now();
  return {
    stopRequested: run.stopRequested,
    proof: proof.holds,
    lastEvent: lastEvent(shop, run, attempt),
    progress: hasProgress(shop, run, attempt),
    absenceProven: observation.phase === "absent" && now - (notes.absentSince ?? Infinity) >= absence,
    waited: now - (notes.endedSince ?? now) >= lag,
  };
}

// One absent answer proves nothing, and a missing file may be on its way: the first look starts a clock.
function waitFor(shop: Shop, lease: Lease, { attempt, observation }: Look): void {
  const notes = notesOf(attempt);
  const now = shop.clock.now();
  if (observation.phase === "absent") note(shop, lease, attempt, { absentSince: notes.absentSince ?? now });
  else note(shop, lease, attempt, { endedSince: notes.endedSince ?? now });
}

async function whileLive(
  shop: Shop,
  lease: Lease,
  { run, attempt, observation }: Look,
  launcher: Launcher,
): Promise<Run> {
  // Seen again: a later absence starts its own clock.
  const seen = note(shop, lease, attempt, { absentSince: undefined, endedSince: undefined });
  if (run.stopRequested || givenUp(shop, run)) {
    await passOnStop(shop, lease, { run, attempt: seen, launcher });
    const reason = run.stopNow ? "is being ended without waiting for a save" : "asked to save and stop";
    return move(shop, lease, run, { to: "cancelling", reason: warned(reason, observation) });
  }
  const change = liveState({
    observation,
    attempt: attempt.number,
    started: shop.store.events(run.id, { attempt: attempt.number, types: ["started"], limit: 1 }).length > 0,
  });
  // A scheduler's word never takes back what the program has said, nor a stop.
  return change === null || !mayGo(run.state, change.to) ? run : move(shop, lease, run, change);
}

// What cannot be seen may still be stopped: accounts that are down say nothing of a queue that works.
async function stopUnseen(
  shop: Shop,
  lease: Lease,
  of: { readonly run: Run; readonly attempt: Attempt; readonly launcher: Launcher },
): Promise<void> {
  if (!of.run.stopRequested && givenUp(shop, of.run) === undefined) return;
  try {
    await passOnStop(shop, lease, of);
  } catch (error) {
    // It cannot be reached for that either: the next look tries again.
    if (!(error instanceof RemoteError)) throw error;
  }
}

// Once for each attempt and each way of stopping: who asked for a save may lose patience later.
async function passOnStop(
  shop: Shop,
  lease: Lease,
  of: { readonly run: Run; readonly attempt: Attempt; readonly launcher: Launcher },
): Promise<void> {
  const { run, attempt, launcher } = of;
  const { cancelSent, endSent } = notesOf(attempt);
  if (run.stopNow ? endSent : cancelSent) return;
  for (const ref of refsOf(attempt)) await launcher.cancel(ref, run.stopNow ? "now" : "graceful");
  note(shop, lease, attempt, { cancelSent: true, endSent: run.stopNow ? true : undefined });
}

function lastEvent(shop: Shop, run: Run, attempt: Attempt): { type: string; code?: string } | null {
  const last = shop.store.events(run.id, { attempt: attempt.number, types: PAYLOAD_ENDS }).at(-1);
  if (last === undefined) return null;
  const { data } = last;
  const code = typeof data === "object" && data !== null && "code" in data ? String(data.code) : undefined;
  return { type: last.type, ...(code === undefined ? {} : { code }) };
}

const PAYLOAD_ENDS = ["finished", "stopped", "failed"];
