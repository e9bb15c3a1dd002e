import { describe, expect, it } from "vitest";
import { fiellerRatio, tQuantile } from "../../src/stats/index.ts";

const options = { df: 12, confidence: 0.95 };

describe("Fieller interval", () => {
  it("holds exactly the ratios that a t test cannot reject", () => {
    const y = { estimate: 0.06, se: 0.02 };
    const x = { estimate: 0.1, se: 0.015 };
    const result = fiellerRatio(y, x, options);
    if (result.status !== "estimated") throw new Error(result.status);
    expect(result.estimate).toBeCloseTo(0.6, 12);
    const t = tQuantile(0.975, 12);
    for (const ratio of result.interval) {
      const statistic = (y.estimate - ratio * x.estimate) / Math.hypot(y.se, ratio * x.se);
      expect(Math.abs(statistic)).toBeCloseTo(t, 9);
    }
  });

  it("is the plain interval for a denominator without error", () => {
    const result = fiellerRatio({ estimate: 1, se: 0.1 }, { estimate: 2, se: 0 }, options);
    const half = (tQuantile(0.975, 12) * 0.1) / 2;
    expect(result).toMatchObject({ status: "estimated", g: 0, estimate: 0.5 });
    expect("interval" in result && result.interval[1]).toBeCloseTo(0.5 + half, 12);
  });

  it("is unbounded when the denominator may be 0, undefined when it is not positive", () => {
    expect(fiellerRatio({ estimate: 1, se: 0.1 }, { estimate: 0.1, se: 0.1 }, options).status).toBe(
      "unbounded",
    );
    expect(fiellerRatio({ estimate: 1, se: 0.1 }, { estimate: -1, se: 0.1 }, options)).toMatchObject({
      status: "undefined",
      reason: "denominator_not_positive",
    });
  });
});
