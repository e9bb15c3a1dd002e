import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  coverageOf,
  geometricMean,
  instanceRatio,
  mean,
  pairRatio,
  ratioOfMeans,
  ratioRange,
  ratioScales,
  type InstanceRatio,
  type Pair,
} from "../../src/stats/index.ts";
import { Numbers, PairSchema } from "./examples.ts";
import { golden } from "./golden.ts";

const Pairs = z.object({ pairs_test_ref: z.array(PairSchema) });

const Outcome = z.object({ instance_ratio: z.number().nullable(), n_refs: z.number(), flag: z.string() });

const named = ({ ratio, references, flag }: InstanceRatio): z.infer<typeof Outcome> => ({
  instance_ratio: ratio,
  n_refs: references,
  flag,
});

describe("instance ratio", () => {
  it("averages ratios, not scores", () => {
    const { input, expected, close } = golden(
      "A1_ratio_instance",
      Pairs,
      z.object({ instance_ratio: z.number() }),
    );
    const result = instanceRatio(input.pairs_test_ref, "complete");
    close(result.ratio, expected.instance_ratio);
    expect(result).toMatchObject({ references: 3, flag: "complete" });
  });

  it("scores a system by the mean over instances", () => {
    const Instances = z.object({ instances: z.array(z.array(PairSchema)) });
    const { input, expected, close } = golden(
      "A2_ratio_score_two_level",
      Instances,
      z.object({ score: z.number() }),
    );
    const ratios = input.instances.map((pairs) => instanceRatio(pairs, "complete").ratio);
    const { mean: score, bounds } = coverageOf(ratios, ratioRange());
    close(score, expected.score);
    close(bounds, [expected.score, expected.score]);
  });

  it("keeps or excludes an instance with a missing reference, and never counts it as 0", () => {
    const { input, expected, close } = golden(
      "A5_missing_reference_call",
      z.object({ pairs_test_ref: z.array(PairSchema.nullable()) }),
      z.object({ available_refs: Outcome, complete_case: Outcome }),
    );
    close(named(instanceRatio(input.pairs_test_ref, "available")), expected.available_refs);
    close(named(instanceRatio(input.pairs_test_ref, "complete")), expected.complete_case);
  });

  it("is excluded when every call is missing or there is none", () => {
    const nothing = { ratio: null, references: 0, flag: "excluded" };
    expect(instanceRatio([null, null], "available")).toEqual(nothing);
    expect(instanceRatio([], "available")).toEqual(nothing);
  });

  it("leaves a score outside the scale unscored, with the side that is at fault", () => {
    const { input, expected, close } = golden(
      "A6_zero_or_out_of_range_scores",
      Pairs.extend({ scale: PairSchema }),
      z.object({
        ratios: z.array(z.number().nullable()),
        reasons: z.array(z.string().nullable()),
        mean_over_scored: z.number(),
        n_scored: z.number(),
        n_expected: z.number(),
      }),
    );
    const results = input.pairs_test_ref.map((pair) => pairRatio(pair, input.scale));
    const ratios = results.map((result) => (result.status === "scored" ? result.ratio : null));
    close(ratios, expected.ratios);
    expect(results.map((result) => (result.status === "scored" ? null : result.reason))).toEqual(
      expected.reasons,
    );
    const coverage = coverageOf(ratios, ratioRange(input.scale));
    close(coverage.mean, expected.mean_over_scored);
    expect([coverage.scored, coverage.expected]).toEqual([expected.n_scored, expected.n_expected]);
  });

  it("rejects scores that are not numbers", () => {
    expect(pairRatio([Number.NaN, 5]).status).toBe("unscored");
    expect(pairRatio([5, Number.POSITIVE_INFINITY]).status).toBe("unscored");
  });
});

describe("the three scales", () => {
  it("match real scores in which two calls carry the mean of ratios", () => {
    const { input, expected, close } = golden(
      "A3_MoR_vs_RoM_vs_GM_real",
      Pairs,
      z.object({
        mean_of_ratios: z.number(),
        ratio_of_means: z.number(),
        geometric_mean: z.number(),
        mean_log_ratio: z.number(),
        median_ratio: z.number(),
        share_of_sum_from_top2: z.number(),
      }),
    );
    close(ratioScales(input.pairs_test_ref), {
      pairs: 10,
      meanOfRatios: expected.mean_of_ratios,
      ratioOfMeans: expected.ratio_of_means,
      geometricMean: expected.geometric_mean,
      meanLogRatio: expected.mean_log_ratio,
      medianRatio: expected.median_ratio,
      shareOfTopTwo: expected.share_of_sum_from_top2,
    });
  });

  it("show that only the mean of ratios favours both sides at once", () => {
    const { input, expected, close } = golden(
      "A4_reciprocal_asymmetry",
      z.object({ pairs_ab: z.array(PairSchema) }),
      z.object({
        mean_of_ratios_a_over_b: z.number(),
        mean_of_ratios_b_over_a: z.number(),
        geometric_mean: z.number(),
        ratio_of_means: z.number(),
      }),
    );
    const forward = ratioScales(input.pairs_ab);
    const backward = ratioScales(input.pairs_ab.map(([a, b]): Pair => [b, a]));
    close(forward?.meanOfRatios, expected.mean_of_ratios_a_over_b);
    close(backward?.meanOfRatios, expected.mean_of_ratios_b_over_a);
    close(
      [forward?.geometricMean, forward?.ratioOfMeans],
      [expected.geometric_mean, expected.ratio_of_means],
    );
  });

  it("are null when nothing is scored", () => {
    expect(ratioScales([null, [0, 5]])).toBeNull();
  });
});

describe("clustered ratio of means", () => {
  const roles = new Map<string, Pair[]>([
    [
      "b",
      [
        [6, 9],
        [8, 8],
        [3, 10],
      ],
    ],
    [
      "a",
      [
        [7, 5],
        [9, 9],
      ],
    ],
    [
      "c",
      [
        [2, 9],
        [4, 7],
      ],
    ],
  ]);

  it("linearises the error over roles", () => {
    const result = ratioOfMeans(roles);
    // By hand: R = 39/57; u_a = 16 - 14R, u_b = 17 - 27R, u_c = 6 - 16R.
    const r = 39 / 57;
    const squares = (16 - 14 * r) ** 2 + (17 - 27 * r) ** 2 + (6 - 16 * r) ** 2;
    expect(result).toMatchObject({ status: "estimated", df: 2, clusters: 3 });
    expect(result.estimate).toBeCloseTo(r, 12);
    expect("se" in result && result.se).toBeCloseTo(Math.sqrt(1.5 * squares) / 57, 12);
  });

  it("has a true error of 0 when every role has the same ratio, and none for one role", () => {
    const same = new Map<string, Pair[]>([
      ["a", [[3, 9]]],
      ["b", [[2, 6]]],
      ["c", [[1, 3]]],
    ]);
    expect(ratioOfMeans(same)).toMatchObject({ status: "estimated", se: 0, zeroVariance: true });
    const one = ratioOfMeans(
      new Map<string, Pair[]>([
        ["a", [[3, 9]]],
        ["empty", []],
      ]),
    );
    expect(one).toEqual({ status: "undefined", reason: "fewer_than_2_clusters", estimate: 1 / 3 });
    expect(ratioOfMeans(new Map())).toEqual({ status: "undefined", reason: "no_data", estimate: null });
  });
});

describe("clustered geometric mean", () => {
  it("is reciprocal: swapping the systems inverts estimate and limits", () => {
    const logs = new Map(Object.entries({ a: [0.1, -0.4], b: [0.3], c: [-0.2, 0.05, 0.6] }));
    const forward = geometricMean(logs);
    const backward = geometricMean(
      new Map([...logs].map(([key, values]) => [key, values.map((value) => -value)])),
    );
    if (forward.status !== "estimated" || backward.status !== "estimated") throw new Error("no estimate");
    expect(forward.estimate).toBeCloseTo(Math.exp(mean([-0.15, 0.3, 0.15])), 12);
    expect(forward.estimate * backward.estimate).toBeCloseTo(1, 12);
    expect(forward.interval[0] * backward.interval[1]).toBeCloseTo(1, 12);
  });

  it("keeps the point value of a single role", () => {
    const one = geometricMean(new Map([["a", [Math.log(2)]]]));
    expect(one).toMatchObject({ status: "undefined", reason: "fewer_than_2_clusters" });
    expect(one.estimate).toBeCloseTo(2, 12);
    expect(Numbers.parse([one.estimate])).toHaveLength(1);
  });
});
