import type { Clock } from "../../core/clock.ts";
import { RemoteError } from "../../core/errors.ts";
import type { LogChunk, LogCursor, RefOf } from "../schema.ts";
import type { AttemptBucket } from "./attempts.ts";
import { faultText } from "./faults.ts";
import {
  behind,
  cursorOf,
  positionsOf,
  withoutSeen,
  type Positions,
  type StreamPosition,
} from "./log-cursor.ts";
import type { LogEvent, LogPage, LogStreams } from "./log-streams.ts";
import { windowOf } from "./log-window.ts";
import type { TrainingJobs } from "./training-jobs.ts";

export interface LogDesk {
  readonly streams: LogStreams;
  readonly bucket: AttemptBucket;
  readonly jobs: Pick<TrainingJobs, "describe">;
  readonly clock: Clock;
  readonly pollSeconds: number;
}

// Tokens are good for 24 hours; an hour less, so that none dies between two pages.
const TOKEN_LIFE = 23 * 3_600_000;
const FOLLOW_SECONDS = 5;

/**
 * Lines of one attempt out of all containers of its job, each exactly once. A pass goes on until every stream repeats its
 * token: an empty page proves nothing. Where an earlier pass was saved, it goes on at its tokens; where these have died,
 * at the time of the last line, leaving out as many lines of that time as were handed on.
 */
export async function* readLogs(
  ref: RefOf<"sagemaker">,
  cursor: LogCursor,
  options: { readonly follow: boolean; readonly signal: AbortSignal },
  desk: LogDesk,
): AsyncGenerator<LogChunk> {
  let positions = positionsOf(cursor);
  // A position in lines alone: they are counted again from the start.
  let skip = cursor.token === undefined ? cursor.offset : 0;
  let offset = cursor.token === undefined ? 0 : cursor.offset;
  while (!options.signal.aborted) {
    const round = await nextRound(ref, positions, desk);
    ({ positions } = round);
    if (round.lines.length > 0) {
      const lines = round.lines.slice(skip);
      offset += round.lines.length;
      skip = Math.max(0, skip - round.lines.length);
      if (lines.length > 0) yield { lines, cursor: cursorOf(offset, positions) };
    } else if (!round.moved) {
      if (!options.follow) return;
      const wait = Math.min(desk.pollSeconds, FOLLOW_SECONDS) * 1000;
      await desk.clock.sleep(wait, options.signal).catch(() => undefined);
    }
  }
}

interface Round {
  readonly lines: readonly string[];
  readonly positions: Positions;
  /** Whether any stream has another token than before. */
  readonly moved: boolean;
}

// One page of every stream, merged by time.
async function nextRound(ref: RefOf<"sagemaker">, before: Positions, desk: LogDesk): Promise<Round> {
  try {
    const { names, ...window } = await windowOf(ref, await desk.streams.of(ref.job), desk);
    const pages = await Promise.all(names.map(async (name) => nextPage(name, before[name], desk)));
    const merged = pages
      .flatMap(({ stream, fresh }, order) => fresh.map((event, index) => ({ event, stream, order, index })))
      .filter(({ event }) => event.timestamp >= window.from && event.timestamp < window.until)
      .toSorted((a, b) => a.event.timestamp - b.event.timestamp || a.order - b.order || a.index - b.index);
    return {
      lines: merged.flatMap(({ event, stream }) => linesOf(event, stream)),
      positions: {
        ...before,
        ...Object.fromEntries(pages.map(({ stream, position }) => [stream, position])),
      },
      moved: pages.some(({ moved }) => moved),
    };
  } catch (error) {
    throw new RemoteError("LOG_UNREACHABLE", `The log of ${ref.job} could not be read: ${faultText(error)}`, {
      hint: "ask again: reading goes on after the last line that was shown",
      cause: error,
    });
  }
}

async function nextPage(
  stream: string,
  before: StreamPosition | undefined,
  { streams, clock }: LogDesk,
): Promise<{
  readonly stream: string;
  readonly fresh: readonly LogEvent[];
  readonly position: StreamPosition;
  readonly moved: boolean;
}> {
  const at = clock.now();
  const atToken = await pageAtToken(stream, before, { streams, at });
  if (before !== undefined && atToken !== null) {
    // Late ones of an earlier time are new: a token stands behind what has been read, whatever its time.
    const { fresh, over } =
      before.over === 0
        ? { fresh: atToken.events, over: 0 }
        : withoutSeen(atToken.events, before, before.over);
    const position = behind(before, fresh, { token: atToken.next, from: before.from, at, over });
    return { stream, fresh, position, moved: atToken.next !== before.token };
  }
  const from = before?.lastTimestamp ?? 0;
  const page = (await streams.page(stream, { from, token: null })) ?? { events: [], next: "" };
  const { fresh, over } =
    before === undefined
      ? { fresh: page.events, over: 0 }
      : withoutSeen(page.events, before, before.lastCount);
  return {
    stream,
    fresh,
    position: behind(before, fresh, { token: page.next, from, at, over }),
    // A page of nothing but seen lines ends where the dead token stood.
    moved: page.events.length > 0 || page.next !== before?.token,
  };
}

// Null where there is no token, or none that is good any longer.
async function pageAtToken(
  stream: string,
  before: StreamPosition | undefined,
  { streams, at }: { readonly streams: LogStreams; readonly at: number },
): Promise<LogPage | null> {
  if (before === undefined || before.token === "" || at - before.at >= TOKEN_LIFE) return null;
  return streams.page(stream, { from: before.from, token: before.token });
}

function linesOf({ message }: LogEvent, stream: string): readonly string[] {
  const instance = /\/algo-(\d+)-/.exec(stream)?.[1] ?? "1";
  const start = instance === "1" ? "" : `[algo-${instance}] `;
  return message
    .replace(/\n+$/, "")
    .split("\n")
    .map((line) => start + line);
}
