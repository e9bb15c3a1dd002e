import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  averageRanks,
  bonettWright,
  calibrateTieWidth,
  kendallTauB,
  pairCounts,
  pairwiseAccuracy,
  spearman,
  spearmanTest,
} from "../../src/stats/index.ts";
import { Numbers } from "./examples.ts";
import { golden } from "./golden.ts";

const Ratings = z.object({ human: Numbers, judge: Numbers });

describe("rank correlation", () => {
  it("handles ties as scipy and R do", () => {
    const { input, expected, close } = golden(
      "I1_spearman_kendall_ties",
      Ratings,
      z.object({
        spearman: z.number(),
        kendall_tau_b: z.number(),
        concordant: z.number(),
        discordant: z.number(),
        ties_human_only: z.number(),
        ties_judge_only: z.number(),
        ties_both: z.number(),
        human_ranks: Numbers,
        judge_ranks: Numbers,
        kendall_tau_a: z.number(),
        goodman_kruskal_gamma: z.number(),
        pairwise_acc_eq_ties_credit: z.number(),
        pairwise_acc_excl_human_ties: z.number(),
      }),
    );
    const { human, judge } = input;
    close([averageRanks(human), averageRanks(judge)], [expected.human_ranks, expected.judge_ranks]);
    close(spearman(human, judge).estimate, expected.spearman);
    close(kendallTauB(human, judge).estimate, expected.kendall_tau_b);
    const counts = pairCounts(human, judge);
    expect(counts).toEqual({
      concordant: expected.concordant,
      discordant: expected.discordant,
      tiesXOnly: expected.ties_human_only,
      tiesYOnly: expected.ties_judge_only,
      tiesBoth: expected.ties_both,
      pairs: 45,
    });
    close((counts.concordant - counts.discordant) / counts.pairs, expected.kendall_tau_a);
    close(counts.concordant / (counts.concordant + counts.discordant), expected.goodman_kruskal_gamma);
    close(pairwiseAccuracy([input]), {
      pairs: 45,
      withTies: expected.pairwise_acc_eq_ties_credit,
      withoutHumanTies: expected.pairwise_acc_excl_human_ties,
    });
  });

  it("is undefined with a reason for a constant list", () => {
    const { input, expected } = golden(
      "I2_constant_vector",
      Ratings,
      z.object({ spearman: z.null(), kendall_tau_b: z.null(), reason: z.string() }),
    );
    const nothing = { status: "undefined", reason: expected.reason, estimate: null };
    expect(spearman(input.human, input.judge)).toEqual(nothing);
    expect(kendallTauB(input.human, input.judge)).toEqual(nothing);
    expect(bonettWright(spearman(input.human, input.judge))).toEqual(nothing);
    expect(spearmanTest(input.human, input.judge)).toBeNull();
  });

  it("has a Bonett-Wright interval", () => {
    const { input, expected, close } = golden(
      "I4_fisher_ci_bonett_wright",
      z.object({ x: Numbers, y: Numbers }),
      z.object({
        spearman: z.number(),
        kendall_tau_b: z.number(),
        se_z_bonett_wright: z.number(),
        ci95: Numbers,
      }),
    );
    const rho = spearman(input.x, input.y);
    close(kendallTauB(input.x, input.y).estimate, expected.kendall_tau_b);
    close(bonettWright(rho), {
      status: "estimated",
      estimate: expected.spearman,
      seZ: expected.se_z_bonett_wright,
      interval: expected.ci95,
    });
    // 620 of 8! orders reach |rho| = 5/6: counted with itertools and numpy.
    expect(spearmanTest(input.x, input.y)).toMatchObject({
      method: "exact",
      assignments: 40_320,
      asExtreme: 620,
    });
    const sampled = spearmanTest(input.x, input.y, { exactUpTo: 4, draws: 20_000 });
    expect(Math.abs((sampled?.p ?? 1) - 620 / 40_320)).toBeLessThan(0.004);
  });

  it("gives no interval for a perfect correlation or three pairs", () => {
    expect(bonettWright(spearman([1, 2, 3, 4], [1, 2, 3, 4]))).toMatchObject({
      reason: "perfect_correlation",
    });
    expect(bonettWright(spearman([1, 2, 3], [1, 3, 2]))).toMatchObject({ reason: "fewer_than_4_pairs" });
    expect(spearman([], [])).toMatchObject({ reason: "no_data" });
    expect(() => spearman([1, 2], [1])).toThrow(RangeError);
    for (const correlation of [spearman, kendallTauB])
      expect(() => correlation([1, 2, Number.NaN], [1, 2, 3])).toThrow(RangeError);
  });

  it("ignores any monotone change of scale", () => {
    const x = [0.3, 1.2, 0.7, 0.7, 2.5];
    const y = [1, 4, 2, 3, 3];
    const stretched = x.map((value) => Math.exp(3 * value));
    expect(spearman(stretched, y)).toEqual(spearman(x, y));
    expect(kendallTauB(stretched, y)).toEqual(kendallTauB(x, y));
  });
});

describe("pairwise accuracy", () => {
  it("never pairs systems of different items", () => {
    const items = [
      { human: [1, 2], judge: [0.1, 0.2] },
      { human: [5, 4], judge: [0.2, 0.3] },
    ];
    expect(pairwiseAccuracy(items)).toEqual({ pairs: 2, withTies: 0.5, withoutHumanTies: 0.5 });
    expect(pairwiseAccuracy([])).toEqual({ pairs: 0, withTies: null, withoutHumanTies: null });
  });

  it("calibrates the tie width that agrees best, and the smallest of those", () => {
    const items = [{ human: [1, 1, 2], judge: [0.5, 0.55, 0.9] }];
    const width = calibrateTieWidth(items);
    expect(width).toBeCloseTo(0.05, 12);
    expect(pairwiseAccuracy(items, width).withTies).toBe(1);
    expect(pairwiseAccuracy(items).withTies).toBeCloseTo(2 / 3, 12);
    expect(calibrateTieWidth([{ human: [1, 2], judge: [1, 2] }])).toBe(0);
    expect(calibrateTieWidth([])).toBe(0);
    // A width of 5 would win the tied pair and lose the other: no better than 0.
    expect(
      calibrateTieWidth([
        { human: [1, 2], judge: [1, 2] },
        { human: [1, 1], judge: [3, 8] },
      ]),
    ).toBe(0);
  });
});
