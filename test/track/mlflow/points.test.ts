import { describe, expect, it } from "vitest";
import { duePoints } from "../../../src/track/index.ts";
import type { RunEvent } from "../../../src/track/index.ts";

type Line = readonly [attempt: number, type: string, data?: Readonly<Record<string, unknown>>];

const eventsOf = (lines: readonly Line[]): RunEvent[] =>
  lines.map(([attempt, type, data = {}], at) => ({
    sequence: 10 * (at + 1),
    runId: "r",
    attempt,
    at: `2026-01-31T10:00:${String(at).padStart(2, "0")}Z`,
    type,
    data,
  }));

const step = (attempt: number, number: number, loss: unknown = attempt + number / 1000): Line => [
  attempt,
  "step",
  { step: number, loss },
];
const saved = (attempt: number, number: number): Line => [attempt, "checkpoint", { step: number }];
const resumed = (attempt: number, number: number): Line => [attempt, "resumed", { step: number }];

const shown = (lines: readonly Line[], key = "train/loss", marks = {}): (readonly [number, unknown])[] =>
  duePoints(eventsOf(lines), marks)
    .points.filter((point) => point.key === key)
    .map(({ step: number, value }) => [number, value] as const);

describe("points of a run", () => {
  it("are final once a checkpoint covers them, and live before", () => {
    const lines = [[1, "started"] as const, step(1, 1), step(1, 2), saved(1, 2), step(1, 3)];
    expect(shown(lines)).toEqual([
      [1, 1.001],
      [2, 1.002],
    ]);
    expect(shown(lines, "live/loss").map(([number]) => number)).toEqual([1, 2, 3]);
    expect(duePoints(eventsOf(lines), {}).settled).toBe(40);
  });

  it("of repeated steps are those of the attempt that the checkpoints come from; live, the first ones", () => {
    const lines = [
      step(1, 1),
      saved(1, 1),
      step(1, 2),
      step(1, 3),
      [2, "started"] as const,
      resumed(2, 1),
      step(2, 2),
      step(2, 3),
      saved(2, 3),
    ];
    expect(shown(lines)).toEqual([
      [1, 1.001],
      [2, 2.002],
      [3, 2.003],
    ]);
    expect(shown(lines, "live/loss")).toEqual([
      [1, 1.001],
      [2, 1.002],
      [3, 1.003],
    ]);
  });

  it("of an attempt that began from scratch replace those of the one before", () => {
    const lines = [step(1, 1), step(1, 2), [2, "started"] as const, step(2, 1), saved(2, 1)];
    expect(shown(lines)).toEqual([[1, 2.001]]);
  });

  it("of a checkpoint whose event was never written are final when an attempt goes on from it", () => {
    const lines = [step(1, 1), step(1, 2), [2, "started"] as const, resumed(2, 1), step(2, 2)];
    expect(shown(lines)).toEqual([[1, 1.001]]);
    expect(duePoints(eventsOf(lines), {}).settled).toBe(40);
  });

  it("stand once even when a later attempt goes on from an earlier checkpoint than was shown", () => {
    const lines = [step(1, 1), step(1, 2), saved(1, 2), resumed(2, 1), step(2, 2), step(2, 3), saved(2, 3)];
    expect(shown(lines).map(([number]) => number)).toEqual([1, 2, 3]);
  });

  it("of a line that an attempt wrote after it had lost the run are left out", () => {
    const lines = [step(1, 1), [2, "started"] as const, step(1, 2), step(2, 1), saved(2, 2)];
    expect(shown(lines)).toEqual([[1, 2.001]]);
  });

  it("of the last evaluation are final at the end, whatever order it was written in", () => {
    const evaluated: Line = [1, "eval", { step: 2, split: "dev", loss: 0.5, tokens: 9 }];
    const lines = [step(1, 2), saved(1, 2), evaluated];
    expect(shown(lines, "eval/loss")).toEqual([]);
    expect(shown([...lines, [1, "finished", { step: 2 }]], "eval/loss")).toEqual([[2, 0.5]]);
  });

  it("keep NaN and the infinities, and nothing that is no number", () => {
    const lines = [
      step(1, 1, "NaN"),
      step(1, 2, "-Infinity"),
      step(1, 3, "x"),
      step(1, 4, null),
      saved(1, 4),
    ];
    expect(shown(lines)).toEqual([
      [1, "NaN"],
      [2, "-Infinity"],
    ]);
  });

  it("have keys that MLflow takes, and times that do not depend on when they are sent", () => {
    const lines: Line[] = [[1, "eval", { step: 1, split: "a:b*é", loss: 1 }], saved(1, 1)];
    expect(duePoints(eventsOf(lines), {}).points).toEqual([
      { key: "a_b__/loss", step: 1, value: 1, timestamp: Date.UTC(2026, 0, 31, 10) },
    ]);
  });

  it("come out the same whether they are looked at all at once or event by event, with a restart in between", () => {
    const lines = [1, 2, 3].flatMap((attempt): Line[] => [
      [attempt, "started"],
      ...(attempt > 1 ? [resumed(attempt, (attempt - 1) * 3)] : []),
      ...[1, 2, 3, 4, 5].map((number) => step(attempt, (attempt - 1) * 3 + number)),
      [attempt, "eval", { step: attempt * 3, split: "dev", loss: attempt }],
      saved(attempt, attempt * 3),
    ]);
    const events = eventsOf([...lines, [3, "finished", {}]]);
    const whole = duePoints(events, {}).points.map(({ key, step: at, value }) => `${key} ${at} ${value}`);
    const marks: Record<string, number> = {};
    const parts: string[] = [];
    let settled = 0;
    for (const { sequence } of events) {
      const known = events.filter((event) => event.sequence > settled && event.sequence <= sequence);
      const due = duePoints(known, marks);
      for (const { key, step: at, value } of due.points) {
        parts.push(`${key} ${at} ${value}`);
        marks[key] = Math.max(at, marks[key] ?? -1);
      }
      settled = due.settled ?? settled;
    }
    expect(parts.toSorted()).toEqual(whole.toSorted());
    expect(new Set(whole.map((line) => line.split(" ", 2).join(" "))).size).toBe(whole.length);
  });
});
