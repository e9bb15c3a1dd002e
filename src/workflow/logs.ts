import { messageOf, RemoteError, UnderstudyError } from "../core/errors.ts";
import type { Launcher, LogCursor } from "../launch/index.ts";
import { endWords, TERMINAL_STATES, type Attempt, type Run } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import { goneHint } from "./outlook.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";
import { putSign } from "./watch-sign.ts";
import { nextWait, paceOf, waitUnavailable, type Pace } from "./watch-pace.ts";

export interface LogsRequest {
  readonly runId: string;
  readonly follow: boolean;
}

/** A line that the program printed, or a line of ours where another attempt begins to speak. */
export interface LogLine {
  readonly kind: "line" | "boundary";
  readonly text: string;
}

interface Reader {
  readonly runId: string;
  readonly launcher: Launcher;
  /** Where each attempt's log has been read to. */
  readonly cursors: Map<number, LogCursor>;
  /** The attempt whose lines were given last. */
  speaking: number | undefined;
}

const START: LogCursor = { offset: 0 };

/**
 * The log lines of all attempts of a run, in order, each once, whoever opened the attempt. With `follow` it also looks after
 * the run (new attempts are opened by rule), goes on where it was when a connection breaks, and ends when the run has ended.
 */
export async function* runLogs(shop: Shop, { runId, follow }: LogsRequest): AsyncIterable<LogLine> {
  const run = shop.store.getRun(runId);
  const leave = follow ? putSign(shop, [runId]) : undefined;
  try {
    yield* linesOf(shop, run, follow);
    const none = withoutJob(shop, runId);
    if (none !== undefined) shop.onProgress({ type: "note", text: none });
  } finally {
    await leave?.();
  }
}

async function* linesOf(shop: Shop, run: Run, follow: boolean): AsyncIterable<LogLine> {
  const { id: runId } = run;
  const launcher = await launcherOf(shop, run);
  const reader: Reader = { runId, launcher, cursors: new Map(), speaking: undefined };
  const pace = paceOf(lockOf(run).job.profile);
  const looking = { pace, wait: pace.fastest, nextAt: 0, failures: 0 };
  let silent = 0;
  for (;;) {
    const ended = TERMINAL_STATES.includes(shop.store.getRun(runId).state);
    try {
      const before = total(reader);
      yield* newLines(shop, reader);
      silent = 0;
      if (!follow || ended) return;
      looking.wait = nextWait(pace, looking.wait, total(reader) !== before);
    } catch (error) {
      if (shop.signal.aborted || !follow || !mayHeal(error)) throw error;
      silent += 1;
      if (silent === 1)
        shop.onProgress({
          type: "note",
          text: `the log cannot be read: ${messageOf(error)}; it is asked again`,
        });
      if (ended && silent > TRIES_AFTER_END) throw error;
    }
    await look(shop, runId, looking);
    await shop.clock.sleep(silent > 0 ? waitUnavailable(pace, silent, runId) : pollOf(pace), shop.signal);
  }
}

const TRIES_AFTER_END = 3;
const POLL = 500;
const SLOWEST_POLL = 5000;

// Reading a log asks no scheduler, so it may be done more often than looking at the run.
const pollOf = ({ slowest }: Pace): number => Math.min(SLOWEST_POLL, Math.max(POLL, slowest / 10));

const mayHeal = (error: unknown): boolean => error instanceof UnderstudyError && error.actor === "remote";

const total = ({ cursors }: Reader): string => JSON.stringify([...cursors]);

async function* newLines(shop: Shop, reader: Reader): AsyncIterable<LogLine> {
  for (const attempt of shop.store.attempts(reader.runId)) {
    const [ref] = refsOf(attempt);
    if (ref === undefined) {
      requireKnown(shop.store.getRun(reader.runId), attempt);
      continue;
    }
    const cursor = reader.cursors.get(attempt.number) ?? START;
    const options = { follow: false, signal: shop.signal };
    for await (const chunk of reader.launcher.logs(ref, cursor, options)) {
      if (chunk.lines.length > 0) yield* boundary(shop, reader, attempt);
      // Given first: whoever reads us is asked for no more until it has them.
      for (const text of chunk.lines) yield { kind: "line", text };
      reader.cursors.set(attempt.number, chunk.cursor);
    }
  }
}

// A job of which nobody knows may be writing all the while.
function requireKnown(run: Run, { endedAt }: Attempt): void {
  if (endedAt !== null || run.state !== "ambiguous") return;
  throw new RemoteError("LOG_UNKNOWN", `The log of run ${run.id} cannot be had now: ${run.reason}`, {
    hint: `its job is looked for by who watches: understudy run watch ${run.id}; ${goneHint(run)}`,
  });
}

/** Why nothing was printed at all; undefined where a job could have. */
function withoutJob(shop: Shop, runId: string): string | undefined {
  if (shop.store.attempts(runId).some((attempt) => refsOf(attempt).length > 0)) return undefined;
  const { state, reason } = shop.store.getRun(runId);
  return `there is no log: no job of run ${runId} is known; it is ${state}${reason === state ? "" : `: ${reason}`}`;
}

function* boundary(shop: Shop, reader: Reader, { number, runId }: Attempt): Iterable<LogLine> {
  const isFirst = reader.speaking === undefined && number === 1;
  const isSame = reader.speaking === number;
  reader.speaking = number;
  if (isFirst || isSame) return;
  const before = shop.store.attempts(runId).find((attempt) => attempt.number === number - 1);
  const words = before ? endWords(before) : null;
  const why = words === null ? "" : `: ${words}`;
  yield {
    kind: "boundary",
    text: `--- attempt ${number}${before ? `, after attempt ${before.number}${why}` : ""} ---`,
  };
}

async function look(
  shop: Shop,
  runId: string,
  looking: { readonly pace: Pace; wait: number; nextAt: number; failures: number },
): Promise<void> {
  if (shop.clock.now() < looking.nextAt) return;
  const { unavailable } = await advanceRun(shop, runId);
  looking.failures = unavailable === null ? 0 : looking.failures + 1;
  const wait = looking.failures > 0 ? waitUnavailable(looking.pace, looking.failures, runId) : looking.wait;
  looking.nextAt = shop.clock.now() + wait;
}
