import { describe, expect, it } from "vitest";
import { z } from "zod";
import { wilsonWinRate } from "../../src/stats/index.ts";
import { Numbers } from "./examples.ts";
import { golden } from "./golden.ts";

describe("win rate", () => {
  it("has the Wilson interval of statsmodels, also when every comparison is won", () => {
    const { input, expected, close } = golden(
      "L4_wilson_win_rate",
      z.object({ wins: z.number(), ties: z.number(), n: z.number() }),
      z.object({ rate: z.number(), wilson95: Numbers, wilson95_10_of_10: Numbers }),
    );
    close(wilsonWinRate(input), {
      status: "estimated",
      estimate: expected.rate,
      interval: expected.wilson95,
      n: input.n,
    });
    const all = wilsonWinRate({ wins: 10, ties: 0, n: 10 });
    if (all.status !== "estimated") throw new Error(all.reason);
    close(all.interval, expected.wilson95_10_of_10);
  });

  it("counts a tie as half and is symmetric in the two systems", () => {
    const a = wilsonWinRate({ wins: 5, ties: 4, n: 12 });
    const b = wilsonWinRate({ wins: 3, ties: 4, n: 12 });
    if (a.status !== "estimated" || b.status !== "estimated") throw new Error("no estimate");
    expect(a.estimate).toBeCloseTo(7 / 12, 12);
    expect(a.interval[0] + b.interval[1]).toBeCloseTo(1, 12);
  });

  it("is undefined without comparisons and refuses counts that do not fit", () => {
    expect(wilsonWinRate({ wins: 0, ties: 0, n: 0 })).toEqual({
      status: "undefined",
      reason: "no_data",
      estimate: null,
    });
    expect(() => wilsonWinRate({ wins: 8, ties: 3, n: 10 })).toThrow(RangeError);
    expect(() => wilsonWinRate({ wins: -1, ties: 0, n: 10 })).toThrow(RangeError);
  });
});
