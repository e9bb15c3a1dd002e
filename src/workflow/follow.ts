import { RemoteError } from "../core/errors.ts";
import { TERMINAL_STATES, type PayloadLine, type Run } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { whileWatching } from "./watch-sign.ts";
import { nextWait, paceOf, waitUnavailable } from "./watch-pace.ts";

/**
 * Looks at a run until it ends, and reports what happens. Rejects with the signal's reason when aborted: the run itself
 * goes on. Polls fast while something happens, slower while nothing does or nothing can be seen.
 */
export const followRun = async (shop: Shop, runId: string): Promise<Run> =>
  whileWatching(shop, [runId], async () => untilEnd(shop, runId));

async function untilEnd(shop: Shop, runId: string): Promise<Run> {
  const pace = paceOf(lockOf(shop.store.getRun(runId)).job.profile);
  let wait = pace.fastest;
  let failures = 0;
  let told = "";
  for (;;) {
    shop.signal.throwIfAborted();
    const { run, lines, heldBy, unavailable } = await advanceRun(shop, runId);
    const words = `${run.state}: ${run.reason}`;
    if (words !== told) tellState(shop, run, words);
    for (const line of lines) report(shop, run, line);
    if (TERMINAL_STATES.includes(run.state)) return run;
    failures = unavailable === null ? 0 : failures + 1;
    if (failures === 1) {
      shop.onProgress({
        type: "note",
        text: `${runId} cannot be looked at: ${unavailable}; it is asked again`,
      });
    }
    const changed = lines.length > 0 || heldBy !== null || words !== told;
    told = words;
    wait = failures > 0 ? waitUnavailable(pace, failures, runId) : nextWait(pace, wait, changed);
    await shop.clock.sleep(wait, shop.signal);
  }
}

function tellState(shop: Shop, { id, kind, state, reason }: Run, words: string): void {
  // What is shown may still be the work before this one.
  shop.onProgress({ type: "detail", text: `${id} is ${state === reason ? state : words}` });
  if (TOLD.has(state)) shop.onProgress({ type: "note", text: `${kind} ${words}` });
}

// What these mean should not be missed by somebody who waits for steps.
const TOLD = new Set<Run["state"]>(["recovering", "ambiguous", "waiting", "queued"]);

/** Follows a run and throws RemoteError `RUN_FAILED` unless it succeeds. */
export const followToSuccess = async (shop: Shop, runId: string): Promise<Run> => {
  const run = await followRun(shop, runId);
  if (run.state === "succeeded") return run;
  throw new RemoteError("RUN_FAILED", `Run ${runId} ended as ${run.state}: ${run.reason}`, {
    hint: `see what it said: understudy run logs ${runId}`,
  });
};

function report(shop: Shop, run: Run, line: PayloadLine): void {
  const number = numbersOf(line.data);
  if (line.type === "step") {
    const steps = lockOf(run).resolved?.plan.steps ?? number("step");
    const perStep = number("secondsPerStep");
    const left = (steps - number("step")) * perStep;
    const etaSeconds = Number.isFinite(left) ? left : null;
    shop.onProgress({ type: "step", step: number("step"), steps, loss: number("loss"), etaSeconds });
  } else if (line.type === "eval") {
    shop.onProgress({ type: "evaluation", step: number("step"), devLoss: number("loss") });
  } else if (line.type === "checkpoint") {
    shop.onProgress({ type: "checkpoint", step: number("step") });
  } else if (line.type === "progress") {
    shop.onProgress({ type: "work", text: run.kind, done: number("done"), total: number("total") });
  } else {
    note(shop, line);
  }
}

function note(shop: Shop, line: PayloadLine): void {
  const word = wordsOf(line.data);
  if (line.type === "resumed") shop.onProgress({ type: "note", text: `resumed from ${word("checkpoint")}` });
  if (line.type === "checkpoint_skipped") {
    shop.onProgress({ type: "note", text: `${word("checkpoint")} is skipped: ${word("reason")}` });
  }
  if (line.type === "truncated" && numbersOf(line.data)("dialogues") > 0) {
    shop.onProgress({
      type: "note",
      text: `${word("dialogues")} long dialogues lost ${word("turns")} of their oldest turns`,
    });
  }
}

const field = (data: unknown, name: string): unknown =>
  typeof data === "object" && data !== null ? new Map(Object.entries(data)).get(name) : undefined;

function numbersOf(data: unknown): (name: string) => number {
  return (name) => {
    const value = field(data, name);
    return typeof value === "number" ? value : Number.NaN;
  };
}

function wordsOf(data: unknown): (name: string) => string {
  return (name) => {
    const value = field(data, name);
    return typeof value === "string" || typeof value === "number" ? String(value) : "?";
  };
}
