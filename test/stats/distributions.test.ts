import { describe, expect, it } from "vitest";
import { normalCdf, normalQuantile, tCdf, tQuantile, tTwoSidedP } from "../../src/stats/index.ts";
import { expectClose } from "./golden.ts";

// Reference values: scipy 1.17.1.
describe("distributions", () => {
  it.each([
    [0.975, 1, 12.706204736174694],
    [0.975, 4, 2.7764451051977934],
    [0.8, 19, 0.8609505502689286],
    [0.025, 97, -1.9847231860139847],
    [0.0005, 6.84524721178381, -5.478273635856698],
    [0.9, 29.513960190561, 1.3109012976290302],
  ])("t quantile of %d with %d df", (p, df, want) => expectClose(tQuantile(p, df), want, 1e-12));

  it.each([
    [-2.418178125751937, 6.84524721178381, 0.02349598009700742],
    [0.3, 5000, 0.6179051866652783],
    [3, 1, 0.8975836176504333],
  ])("P(T <= %d) with %d df", (t, df, want) => expectClose(tCdf(t, df), want, 1e-13));

  it.each([
    [1e-12, -7.034483825301131],
    [1e-6, -4.753424308822899],
    [0.025, -1.9599639845400545],
    [0.5, 0],
    [0.8, 0.8416212335729143],
    [0.9999, 3.719016485455709],
  ])("normal quantile of %d", (p, want) => expectClose(normalQuantile(p), want, 1e-13));

  it.each([
    [-3, 0.0013498980316300933],
    [0, 0.5],
    [0.5, 0.6914624612740131],
    [4, 0.9999683287581669],
  ])("P(Z <= %d)", (z, want) => expectClose(normalCdf(z), want, 1e-14));

  it("keeps its digits in the far tail", () => {
    expectClose(tCdf(-8, 97) / 1.3417923728462184e-12, 1, 1e-10);
    expectClose(normalCdf(-10) / 7.61985302416047e-24, 1, 1e-10);
    expect(tTwoSidedP(8, 97)).toBe(tTwoSidedP(-8, 97));
    expect(tTwoSidedP(0, 3)).toBe(1);
  });

  it("refuses what has no answer instead of returning NaN", () => {
    for (const p of [0, 1, -0.1, Number.NaN]) {
      expect(() => tQuantile(p, 5)).toThrow(RangeError);
      expect(() => normalQuantile(p)).toThrow(RangeError);
    }
    for (const df of [0, -1, Number.NaN]) expect(() => tQuantile(0.9, df)).toThrow(RangeError);
    expect(() => tCdf(Number.NaN, 5)).toThrow(RangeError);
    expect(() => normalCdf(Number.NaN)).toThrow(RangeError);
  });
});
