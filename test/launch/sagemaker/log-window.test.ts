import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { JobRef, LogCursor } from "../../../src/launch/index.ts";
import type { LogEvent } from "../../../src/launch/sagemaker/log-streams.ts";
import { readLogs, type LogDesk } from "../../../src/launch/sagemaker/logs.ts";
import type { JobStatus } from "../../../src/launch/sagemaker/training-jobs.ts";

type Ref = Extract<JobRef, { kind: "sagemaker" }>;
const DAY = 24 * 3_600_000;
const T0 = Date.parse("2026-01-31T10:00:00Z");
const ref: Ref = {
  kind: "sagemaker",
  marker: "us-r-a1",
  folder: "understudy/runs/r/attempts/1",
  region: "us-east-1",
  job: "us-r-a1",
  submittedAt: T0,
};
const restarted: Ref = { ...ref, marker: "us-r-a2", folder: "understudy/runs/r/attempts/2" };

interface Told {
  readonly streams: Record<string, LogEvent[]>;
  /** Attempts that have begun, and when. */
  readonly begun: Record<number, number>;
  ended: boolean;
  now: number;
  /** Events on a page. */
  readonly page: number;
}

// The service as it pages: from a time, or on from a token, which is the number of events before it.
const deskFor = (told: Told): LogDesk => {
  const bucket: LogDesk["bucket"] = {
    name: "b",
    readText: async (key) => {
      const number = Number(/attempts\/(\d+)\/supervisor/.exec(key)?.[1]);
      const at = told.begun[number];
      const facts = { schemaVersion: 1, marker: `us-r-a${number}`, token: "t", job: ref.job };
      return at === undefined
        ? undefined
        : JSON.stringify({ ...facts, startedAt: new Date(at).toISOString() });
    },
  };
  const status = (): JobStatus => ({
    name: ref.job,
    arn: "",
    primary: told.ended ? "Completed" : "InProgress",
    secondary: told.ended ? "Completed" : "Training",
    failure: "",
    message: "",
    createdAt: T0,
    modifiedAt: T0,
    ended: told.ended,
  });
  return {
    clock: { ...systemClock, now: () => told.now },
    pollSeconds: 1,
    bucket,
    jobs: { describe: async () => status() },
    streams: {
      of: async () => Object.keys(told.streams).toSorted(),
      page: async (name, { from, token }) => {
        const all = told.streams[name] ?? [];
        const start =
          token === null ? all.findIndex(({ timestamp }) => timestamp >= from) : Number(token.split("/")[1]);
        const events = start < 0 ? [] : all.slice(start, start + told.page);
        return { events, next: `f/${(start < 0 ? all.length : start) + events.length}` };
      },
    },
  };
};

const told = (changes: Partial<Told> = {}): Told => ({
  streams: {},
  begun: {},
  ended: false,
  now: T0,
  page: 3,
  ...changes,
});

const read = async (
  desk: LogDesk,
  of: Ref,
  from: LogCursor,
): Promise<{ lines: string[]; cursor: LogCursor }> => {
  const lines: string[] = [];
  let cursor = from;
  const options = { follow: false, signal: new AbortController().signal };
  for await (const chunk of readLogs(of, cursor, options, desk)) {
    lines.push(...chunk.lines);
    ({ cursor } = chunk);
  }
  return { lines, cursor };
};
const at = (timestamp: number, ...messages: readonly string[]): LogEvent[] =>
  messages.map((message) => ({ timestamp, message }));
const START: LogCursor = { offset: 0 };

describe("lines of one moment that fill several pages", () => {
  it("are given once over a token that has died", async () => {
    const all = Array.from({ length: 8 }, (_, index) => `line ${index}`);
    const world = told({ streams: { "us-r-a1/algo-1-1": at(T0, ...all) } });
    const first = await read(deskFor(world), ref, START);
    expect(first.lines).toEqual(all);
    world.streams["us-r-a1/algo-1-1"]?.push(...at(T0, "late"), ...at(T0 + 1, "next"));
    world.now += DAY;
    const second = await read(deskFor(world), ref, first.cursor);
    expect(second.lines).toEqual(["late", "next"]);
    expect((await read(deskFor(world), ref, second.cursor)).lines).toEqual([]);
  });

  it("goes on in the middle of them when it was stopped there", async () => {
    const all = Array.from({ length: 8 }, (_, index) => `line ${index}`);
    const world = told({ streams: { "us-r-a1/algo-1-1": at(T0, ...all) } });
    const options = { follow: false, signal: new AbortController().signal };
    let [lines, cursor]: [string[], LogCursor] = [[], START];
    // Each process reads one chunk, a day after the one before.
    for (let round = 0; round < 5; round++) {
      for await (const chunk of readLogs(ref, cursor, options, deskFor(world))) {
        lines = [...lines, ...chunk.lines];
        ({ cursor } = chunk);
        break;
      }
      world.now += DAY;
    }
    expect(lines).toEqual(all);
  });
});

describe("a container that has come after this attempt's own", () => {
  const streams = (): Told["streams"] => ({
    [`us-r-a1/algo-1-${T0}`]: at(T0 + 1000, "of the first"),
    [`us-r-a1/algo-1-${T0 + 60_000}`]: at(T0 + 62_000, "of the second"),
  });

  it("is nobody's until the next attempt has said when it began: no line is given twice", async () => {
    const world = told({ streams: streams(), begun: { 1: T0 + 500 } });
    const first = await read(deskFor(world), ref, START);
    expect(first.lines).toEqual(["of the first"]);
    world.begun[2] = T0 + 61_000;
    expect((await read(deskFor(world), ref, first.cursor)).lines).toEqual([]);
    expect((await read(deskFor(world), restarted, START)).lines).toEqual(["of the second"]);
  });

  it("is this attempt's when the job ended before it had begun another", async () => {
    const world = told({ streams: streams(), begun: { 1: T0 + 500 } });
    const first = await read(deskFor(world), ref, START);
    world.ended = true;
    expect((await read(deskFor(world), ref, first.cursor)).lines).toEqual(["of the second"]);
  });

  it("is this attempt's when the one before it has never begun it", async () => {
    const world = told({ streams: streams(), begun: { 1: T0 + 61_000 } });
    expect((await read(deskFor(world), ref, START)).lines).toEqual(["of the first", "of the second"]);
  });

  it("counts seconds in its name as well", async () => {
    const [one = [], two = []] = Object.values(streams());
    const named = { [`us-r-a1/algo-1-${T0 / 1000}`]: one, [`us-r-a1/algo-1-${T0 / 1000 + 60}`]: two };
    const world = told({ streams: named, begun: { 1: T0 + 500 } });
    expect((await read(deskFor(world), ref, START)).lines).toEqual(["of the first"]);
  });
});
