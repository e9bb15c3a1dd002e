import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  differenceInDifferences,
  fiellerRatio,
  labelExchangeTest,
  pairedDifference,
  rawGap,
  stratifiedDifference,
  summarizeClusters,
  type RoleGain,
} from "../../src/stats/index.ts";
import { clustersFrom, Numbers, observationsFrom, shuffled, uniforms } from "./examples.ts";
import { golden } from "./golden.ts";

const roles = (side: string, gains: readonly number[]): readonly RoleGain[] =>
  gains.map((difference, index) => ({ cluster: `${side}-${index}`, difference }));

const estimatedFrom = (
  ...args: Parameters<typeof differenceInDifferences>
): Extract<ReturnType<typeof differenceInDifferences>, { status: "estimated" }> => {
  const result = differenceInDifferences(...args);
  if (result.status !== "estimated") throw new Error(result.reason);
  return result;
};

const randomGains = (side: string, count: number): readonly RoleGain[] => roles(side, uniforms(count, count));

const raised = (gains: readonly RoleGain[]): readonly RoleGain[] =>
  gains.map((role) => ({ ...role, difference: role.difference + 2 }));

const language = (cluster: string): string => cluster.slice(0, 2);

describe("difference in differences", () => {
  it("equals R's Welch test on role gains", () => {
    const { input, expected, close } = golden(
      "G1_did_ood_gap_welch",
      z.object({
        role_level_gain_tuned_minus_base_ID: Numbers,
        role_level_gain_tuned_minus_base_OOD: Numbers,
      }),
      z.object({
        gain_ID: z.number(),
        gain_OOD: z.number(),
        did: z.number(),
        se: z.number(),
        df_welch: z.number(),
        t: z.number(),
        p_two_sided: z.number(),
        ci95: Numbers,
      }),
    );
    const result = estimatedFrom({
      seen: roles("seen", input.role_level_gain_tuned_minus_base_ID),
      unseen: roles("unseen", input.role_level_gain_tuned_minus_base_OOD),
    });
    close([result.gainSeen.estimate, result.gainUnseen.estimate], [expected.gain_ID, expected.gain_OOD]);
    close([result.gamma.estimate, result.gamma.se], [expected.did, expected.se]);
    close(result.gamma.df, expected.df_welch);
    close([result.t, result.p], [expected.t, expected.p_two_sided]);
    close(result.gamma.interval, expected.ci95);
    expect(result.verdictAllowed).toBe(false);
    const welch = { df: result.gamma.df, confidence: 0.95 };
    expect(result.retention).toEqual(fiellerRatio(result.gainUnseen, result.gainSeen, welch));
  });

  it("removes the role difficulty that a raw gap holds", () => {
    const Side = z.record(z.string(), z.object({ base: Numbers, tuned: Numbers }));
    const { input, expected, close } = golden(
      "G2_did_vs_raw_gap",
      z.object({ scores: z.object({ ID: Side, OOD: Side }) }),
      z.object({
        raw_gap_tuned_OOD_minus_ID: z.number(),
        raw_gap_base_OOD_minus_ID: z.number(),
        did: z.number(),
        role_gains_ID: Numbers,
        role_gains_OOD: Numbers,
        se_welch: z.number(),
      }),
    );
    const scores = (side: z.infer<typeof Side>, system: "base" | "tuned"): Record<string, number[]> =>
      Object.fromEntries(Object.entries(side).map(([role, values]) => [role, values[system]]));
    const means = (side: z.infer<typeof Side>, system: "base" | "tuned"): readonly number[] =>
      summarizeClusters(clustersFrom(scores(side, system))).clusterMeans.map((row) => row.mean);
    const gains = (side: z.infer<typeof Side>): readonly RoleGain[] =>
      pairedDifference(observationsFrom(scores(side, "tuned")), observationsFrom(scores(side, "base")))
        .clusters;
    const { ID, OOD } = input.scores;
    close(rawGap(means(ID, "tuned"), means(OOD, "tuned")), expected.raw_gap_tuned_OOD_minus_ID);
    close(rawGap(means(ID, "base"), means(OOD, "base")), expected.raw_gap_base_OOD_minus_ID);
    close(
      gains(ID).map((role) => role.difference),
      expected.role_gains_ID,
    );
    close(
      gains(OOD).map((role) => role.difference),
      expected.role_gains_OOD,
    );
    const { gamma } = estimatedFrom({ seen: gains(ID), unseen: gains(OOD) });
    close([gamma.estimate, gamma.se], [expected.did, expected.se_welch]);
  });

  it("is refused without unseen roles, and with a role on both sides", () => {
    const seen = roles("seen", [0.1, 0.2, 0.3]);
    const none = differenceInDifferences({ seen, unseen: [] });
    expect(none).toMatchObject({ status: "undefined", reason: "no_unseen_roles", verdictAllowed: false });
    expect(none.gainSeen).toMatchObject({ status: "estimated" });
    expect(differenceInDifferences({ seen: [], unseen: seen })).toMatchObject({ reason: "no_seen_roles" });
    const unseen = [...roles("unseen", [0.1, 0.2]), ...seen.slice(0, 1)];
    expect(differenceInDifferences({ seen, unseen })).toMatchObject({
      reason: "roles_on_both_sides",
      overlap: ["seen-0"],
    });
    expect(differenceInDifferences({ seen, unseen: roles("unseen", [0.1]) })).toMatchObject({
      reason: "fewer_than_2_per_side",
      gainUnseen: { status: "undefined", estimate: 0.1 },
    });
  });

  it("allows a verdict from eight roles a side on", () => {
    expect(
      estimatedFrom({ seen: randomGains("s", 78), unseen: randomGains("u", 8) }, { draws: 50 })
        .verdictAllowed,
    ).toBe(true);
    expect(
      estimatedFrom({ seen: randomGains("s", 78), unseen: randomGains("u", 7) }, { draws: 50 })
        .verdictAllowed,
    ).toBe(false);
    expect(
      estimatedFrom({ seen: randomGains("s", 7), unseen: randomGains("u", 20) }, { draws: 50 })
        .verdictAllowed,
    ).toBe(false);
  });

  it("does not depend on the order of roles and ignores a shift of all gains", () => {
    const seen = roles("s", uniforms(12, 1));
    const unseen = roles("u", uniforms(9, 2));
    const expected = estimatedFrom({ seen, unseen }, { draws: 200 });
    const other = estimatedFrom({ seen: shuffled(seen, 3), unseen: shuffled(unseen, 4) }, { draws: 200 });
    expect(other).toEqual(expected);
    const moved = estimatedFrom({ seen: raised(seen), unseen: raised(unseen) }, { draws: 200 });
    expect(moved.gamma.estimate).toBeCloseTo(expected.gamma.estimate, 12);
    expect(moved.permutation).toEqual(expected.permutation);
  });

  it("has no gap when base and tuned are one system", () => {
    const result = estimatedFrom(
      { seen: roles("s", Array(9).fill(0)), unseen: roles("u", Array(9).fill(0)) },
      { draws: 100 },
    );
    expect(result.gamma).toMatchObject({ estimate: 0, se: 0, interval: [0, 0], df: 8 });
    expect([result.p, result.permutation.p]).toEqual([1, 1]);
    expect(result.retention).toMatchObject({ status: "undefined", reason: "denominator_not_positive" });
  });
});

describe("label exchange", () => {
  it("counts by hand", () => {
    // Of the six splits only the observed one and its mirror reach a difference of 4.
    expect(labelExchangeTest([1, 2], [5, 6])).toEqual({
      method: "exact",
      assignments: 6,
      asExtreme: 2,
      p: 1 / 3,
      minimumP: 1 / 3,
    });
  });

  it("samples to the same p as enumeration", () => {
    const first = uniforms(6, 3).map((value) => value + 0.3);
    const second = uniforms(7, 5);
    const exact = labelExchangeTest(first, second);
    const sampled = labelExchangeTest(first, second, { draws: 1700 });
    expect([exact.method, exact.assignments, sampled.method]).toEqual(["exact", 1716, "sampled"]);
    expect(Math.abs(sampled.p - exact.p)).toBeLessThan(0.05);
  });
});

describe("stratified difference", () => {
  it("weights the languages by their share of the unseen roles", () => {
    const seen = [...roles("en", [0.2, 0.4, 0.3]), ...roles("zh", [0.1, 0.3])];
    const unseen = [...roles("en-new", [0.1, 0.2]), ...roles("zh-new", [0, 0.2, 0.1, 0.1])];
    const result = stratifiedDifference({ seen, unseen }, language);
    // English: .15 - .30, weight 2/6; Chinese: .10 - .20, weight 4/6.
    expect(result.estimate).toBeCloseTo((-0.15 * 2 - 0.1 * 4) / 6, 12);
    const squares = (1 / 9) * (0.01 / 3 + 0.005 / 2) + (4 / 9) * (0.02 / 2 + 0.02 / 3 / 4);
    expect("se" in result && result.se).toBeCloseTo(Math.sqrt(squares), 12);
  });

  it("equals the plain difference for one stratum", () => {
    const gains = { seen: roles("en", uniforms(6, 1)), unseen: roles("en-new", uniforms(5, 2)) };
    const plain = estimatedFrom(gains).gamma;
    const stratified = stratifiedDifference(gains, language);
    if (stratified.status !== "estimated") throw new Error(stratified.reason);
    expect(stratified.estimate).toBeCloseTo(plain.estimate, 12);
    expect(stratified.df).toBeCloseTo(plain.df, 9);
  });

  it("is undefined where a language has no seen role", () => {
    const gains = { seen: roles("en", [1, 2]), unseen: roles("zh", [1, 2]) };
    expect(stratifiedDifference(gains, language)).toMatchObject({ reason: "stratum_without_seen_roles" });
    expect(stratifiedDifference({ ...gains, unseen: [] }, language)).toMatchObject({
      reason: "no_unseen_roles",
    });
  });
});
