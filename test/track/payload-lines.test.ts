import { describe, expect, it } from "vitest";
import { readPayloadLine } from "../../src/track/payload-lines.ts";

describe("readPayloadLine", () => {
  const line = (fields: object): string =>
    JSON.stringify({ v: 1, at: "2026-01-31T10:00:00Z", attempt: 2, ...fields });

  it("makes metrics of steps and evaluations", () => {
    const step = readPayloadLine(
      line({
        type: "step",
        step: 7,
        epoch: 0.5,
        loss: 2.5,
        learningRate: 1e-4,
        gradNorm: 0.3,
        secondsPerStep: 1,
      }),
    );
    expect(step).toMatchObject({ type: "step", attempt: 2, data: { step: 7, loss: 2.5 } });
    expect(Object.fromEntries(step.metrics.map(({ name, value }) => [name, value]))).toEqual({
      "train/epoch": 0.5,
      "train/grad_norm": 0.3,
      "train/learning_rate": 1e-4,
      "train/loss": 2.5,
      "train/seconds_per_step": 1,
    });
    expect(
      readPayloadLine(line({ type: "eval", step: 7, split: "dev", loss: 3, tokens: 99 })).metrics,
    ).toEqual([
      { name: "dev/loss", step: 7, value: 3 },
      { name: "dev/tokens", step: 7, value: 99 },
    ]);
  });

  it("keeps what Python calls NaN as a word, and makes no number of it", () => {
    const seen = readPayloadLine(
      '{"v":1,"at":"x","attempt":1,"type":"step","step":3,"loss":NaN,"gradNorm":-Infinity,"epoch":1}',
    );
    expect(seen.data).toEqual({ step: 3, loss: "NaN", gradNorm: "-Infinity", epoch: 1 });
    expect(seen.metrics).toEqual([{ name: "train/epoch", step: 3, value: 1 }]);
  });

  it.each([
    "",
    "x",
    "[]",
    "null",
    "{",
    '{"v":2,"at":"x","attempt":1,"type":"a"}',
    '{"v":1}',
    "\u0000",
    '{"a": NaN}',
  ])("keeps %j as unreadable", (text) => {
    expect(readPayloadLine(text)).toMatchObject({ type: "unreadable", data: { line: text }, metrics: [] });
  });

  it("never throws, on 3,000 damaged lines", () => {
    const words = [
      '"v":1',
      '"at":"t"',
      '"attempt":1',
      '"type":"step"',
      '"type":"new"',
      '"step":-1',
      '"step":5',
      '"loss":null',
      '"loss":"x"',
      '"split":3',
      "{",
      "}",
      ",",
      "NaN",
      "ü",
      '"',
    ];
    let seed = 7;
    const next = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % below;
    };
    for (let round = 0; round < 3000; round++) {
      const text = `{${Array.from({ length: next(9) }, () => words[next(words.length)]).join(next(4) ? "," : "")}}`;
      const seen = readPayloadLine(text);
      expect(typeof seen.type).toBe("string");
      expect(seen.metrics.every(({ value }) => Number.isFinite(value))).toBe(true);
    }
  });
});
