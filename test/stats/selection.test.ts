import { describe, expect, it } from "vitest";
import {
  expectedMaximum,
  oneStandardErrorRule,
  selectionOptimism,
  type Candidate,
} from "../../src/stats/index.ts";
import { observationsFrom, shuffled } from "./examples.ts";
import { expectClose } from "./golden.ts";

const checkpoint = (step: number, gains: readonly number[]): Candidate => ({
  id: `step-${step}`,
  step,
  observations: observationsFrom(Object.fromEntries(gains.map((gain, role) => [`r${role}`, [0.5 + gain]]))),
});

describe("expected maximum", () => {
  // Closed forms for 2 and 3, scipy quadrature for the rest.
  it.each([
    [1, 0],
    [2, 1 / Math.sqrt(Math.PI)],
    [3, 3 / (2 * Math.sqrt(Math.PI))],
    [5, 1.1629644736405196],
    [10, 1.538752730835173],
    [100, 2.507593636441689],
  ])("of %d standard normals", (k, want) => expectClose(expectedMaximum(k), want, 1e-10));

  it("makes the best of equal checkpoints look better the less they share", () => {
    expect(selectionOptimism(10, { se: 0.02, rho: 1 })).toBe(0);
    expect(selectionOptimism(10, { se: 0.02, rho: 0 })).toBeCloseTo(0.02 * 1.538752730835173, 10);
    expect(() => expectedMaximum(0)).toThrow(RangeError);
    expect(() => selectionOptimism(3, { se: 1, rho: 2 })).toThrow(RangeError);
  });
});

describe("one-standard-error rule", () => {
  const candidates = [
    checkpoint(500, [0, 0.01, 0.02, 0, 0.01]),
    checkpoint(1000, [0.2, 0.31, 0.18, 0.27, 0.25]),
    checkpoint(1500, [0.25, 0.24, 0.26, 0.25, 0.24]),
    checkpoint(2000, [0.22, 0.3, 0.24, 0.26, 0.25]),
  ];

  it("takes the earliest that cannot be told from the best", () => {
    const result = oneStandardErrorRule(candidates);
    expect(result).toMatchObject({ status: "selected", best: "step-2000", id: "step-1000" });
    for (const seed of [1, 2, 3]) expect(oneStandardErrorRule(shuffled(candidates, seed))).toEqual(result);
  });

  it("takes the best when it is clearly ahead, and nothing without scores", () => {
    expect(
      oneStandardErrorRule(candidates.slice(0, 1).concat(checkpoint(3000, [1, 1.1, 1.2, 1, 1.1]))),
    ).toMatchObject({
      id: "step-3000",
    });
    expect(oneStandardErrorRule([])).toEqual({ status: "undefined", reason: "no_data" });
    expect(
      oneStandardErrorRule([{ id: "x", step: 1, observations: observationsFrom({ r: [null] }) }]),
    ).toMatchObject({
      reason: "no_data",
    });
  });

  it("takes the earlier of two equal checkpoints", () => {
    const same = [checkpoint(1000, [0.1, 0.2]), checkpoint(500, [0.1, 0.2])];
    expect(oneStandardErrorRule(same)).toMatchObject({ id: "step-500", best: "step-500" });
  });
});
