import { describe, expect, it } from "vitest";
import { mean, median, quantile, seededRandom, sum } from "../../src/stats/index.ts";
import { shuffled, uniforms } from "./examples.ts";

const draw = (seed: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: 5 }, () => random.uint32());
};

describe("sum", () => {
  it("is correctly rounded where a plain loop is not", () => {
    expect(sum(Array(10).fill(0.1))).toBe(1);
    expect(sum([1e100, 1, -1e100])).toBe(1);
    expect(sum([1e16, 1, 1e-16])).toBe(10_000_000_000_000_002);
    expect(sum([])).toBe(0);
  });

  it("does not depend on the order", () => {
    const values = uniforms(200, 5).map((value, index) => (value - 0.5) * 10 ** (index % 30));
    const expected = sum(values);
    for (let seed = 0; seed < 50; seed += 1) expect(sum(shuffled(values, seed))).toBe(expected);
  });

  it("refuses NaN, Infinity and a mean of nothing", () => {
    expect(() => sum([1, Number.NaN])).toThrow(RangeError);
    expect(() => sum([Number.POSITIVE_INFINITY])).toThrow(RangeError);
    expect(() => mean([])).toThrow(RangeError);
  });
});

describe("quantile type 7", () => {
  it("interpolates as numpy and R do by default", () => {
    expect(quantile([10, 1, 3, 2], 0.4)).toBeCloseTo(2.2, 12);
    expect([quantile([3, 1, 2], 0), quantile([3, 1, 2], 1), median([4, 1, 3, 2])]).toEqual([1, 3, 2.5]);
    expect(() => quantile([], 0.5)).toThrow(RangeError);
    expect(() => quantile([1], 1.5)).toThrow(RangeError);
  });
});

describe("seeded random numbers", () => {
  it("are those of an independent implementation of the generator", () => {
    expect(draw(42)).toEqual([660444221, 3652823732, 77672526, 910233633, 2297337756]);
  });

  it("repeat for a seed and differ between seeds", () => {
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    expect(() => seededRandom(0.5)).toThrow(RangeError);
  });

  it("are uniform below n", () => {
    const random = seededRandom(3);
    const counts = [0, 0, 0, 0, 0, 0, 0];
    for (let round = 0; round < 70_000; round += 1) {
      const value = random.below(7);
      counts[value] = (counts[value] ?? 0) + 1;
    }
    const chiSquare = counts.reduce((total, count) => total + (count - 10_000) ** 2 / 10_000, 0);
    expect(chiSquare).toBeLessThan(22.46);
  });
});
