import { describe, expect, it } from "vitest";
import { z } from "zod";
import { adjustPValues, gatekeep, type Correction } from "../../src/stats/index.ts";
import { golden } from "./golden.ts";

const PValues = z.record(z.string(), z.number());
const adjusted = (p: Record<string, number | null>, correction: Correction): Record<string, number | null> =>
  Object.fromEntries(
    adjustPValues(
      Object.entries(p).map(([name, value]) => ({ name, p: value })),
      correction,
    ).map((test) => [test.name, test.adjusted]),
  );

describe("multiple tests", () => {
  it("equal R's p.adjust for eight metrics", () => {
    const { input, expected, close } = golden(
      "H1_holm_bh_by_8_metrics",
      z.object({ p: PValues }),
      z.object({ holm: PValues, bh: PValues, by: PValues }),
    );
    for (const correction of ["holm", "bh", "by"] as const)
      close(adjusted(input.p, correction), expected[correction]);
  });

  it("leave an untestable metric null and out of the family", () => {
    for (const correction of ["holm", "bh", "by"] as const) {
      const without = adjusted({ a: 0.01, b: 0.04 }, correction);
      expect(adjusted({ a: 0.01, untested: null, b: 0.04 }, correction)).toEqual({
        ...without,
        untested: null,
      });
    }
    expect(adjustPValues([], "by")).toEqual([]);
  });

  it("are at most 1, monotone and independent of the order", () => {
    const p = { a: 0.9, b: 0.5, c: 0.02, d: 0.5 };
    for (const correction of ["holm", "bh", "by"] as const) {
      const result = adjusted(p, correction);
      expect(Object.values(result).every((value) => value !== null && value <= 1)).toBe(true);
      expect(result["b"]).toBe(result["d"]);
      expect(adjusted(Object.fromEntries(Object.entries(p).toReversed()), correction)).toEqual(result);
    }
    expect(() => adjusted({ a: 1.2 }, "holm")).toThrow(RangeError);
  });

  it("open a family only behind a significant primary", () => {
    const tests = [
      { name: "PC", p: 0.001 },
      { name: "EA", p: 0.2 },
    ];
    const significant = (primary: number | null): boolean[] =>
      gatekeep(primary, tests, 0.05).tests.map((test) => test.significant);
    expect(significant(0.01)).toEqual([true, false]);
    expect(significant(0.06)).toEqual([false, false]);
    expect(significant(null)).toEqual([false, false]);
  });
});
