import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  addWins,
  bootstrapElo,
  bradleyTerry,
  winProbability,
  type WinMatrix,
} from "../../src/stats/index.ts";
import { Numbers, shuffled } from "./examples.ts";
import { golden } from "./golden.ts";

const Wins = z.object({ wins_row_over_col: z.array(Numbers) });

describe("Bradley-Terry", () => {
  it("equals R's logistic fit", () => {
    const { input, expected, close } = golden(
      "K1_bradley_terry_4_systems",
      Wins,
      z.object({
        log_strength_centered: Numbers,
        "elo_scale_400/ln10_centered_1000": Numbers,
        p_win_1_vs_4: z.number(),
        ranking: Numbers,
      }),
    );
    const fit = bradleyTerry(input.wins_row_over_col);
    if (fit.status !== "estimated") throw new Error(fit.status);
    close(fit.logStrengths, expected.log_strength_centered);
    close(fit.elo, expected["elo_scale_400/ln10_centered_1000"]);
    close(winProbability(fit.logStrengths[0] ?? 0, fit.logStrengths[3] ?? 0), expected.p_win_1_vs_4);
    expect(fit.ranking).toEqual(expected.ranking);
  });

  it("flags a ridge fit when a system is undefeated", () => {
    const { input, expected } = golden(
      "K3_bradley_terry_undefeated",
      Wins,
      z.object({ mle_exists: z.literal(false), reason: z.string() }),
    );
    const fit = bradleyTerry(input.wins_row_over_col);
    expect(fit).toMatchObject({ status: "regularized", reason: expected.reason, ranking: [0, 1, 2] });
    const weaker = bradleyTerry(input.wins_row_over_col, { ridge: 10 });
    if (fit.status !== "regularized" || weaker.status !== "regularized") throw new Error("not regularized");
    expect(weaker.logStrengths[0]).toBeLessThan(fit.logStrengths[0] ?? 0);
    // At the maximum the penalty balances the surplus of wins over expected wins.
    const [first = 0, second = 0, third = 0] = fit.logStrengths;
    const surplus = 5 - 5 * winProbability(first, second) + 5 - 5 * winProbability(first, third);
    expect(surplus).toBeCloseTo(0.1 * first, 9);
  });

  it("has no common scale for groups that never met", () => {
    const { input, expected } = golden(
      "K5_disconnected_graph",
      Wins,
      z.object({ mle_exists: z.literal(false), components: z.array(Numbers) }),
    );
    expect(bradleyTerry(input.wins_row_over_col)).toEqual({
      status: "disconnected",
      components: expected.components,
    });
  });

  it("gives equal systems equal strengths and renumbers with them", () => {
    const even: WinMatrix = [
      [0, 3, 3],
      [3, 0, 3],
      [3, 3, 0],
    ];
    expect(bradleyTerry(even)).toMatchObject({
      status: "estimated",
      logStrengths: [0, 0, 0],
      elo: [1000, 1000, 1000],
    });
    const forward = bradleyTerry([
      [0, 9, 4],
      [1, 0, 2],
      [1, 3, 0],
    ]);
    const backward = bradleyTerry([
      [0, 3, 1],
      [2, 0, 1],
      [4, 9, 0],
    ]);
    if (forward.status !== "estimated" || backward.status !== "estimated") throw new Error("no estimate");
    for (const [index, value] of forward.logStrengths.entries())
      expect(backward.logStrengths[2 - index]).toBeCloseTo(value, 9);
  });

  it("fits lopsided counts and refuses what is not a win matrix", () => {
    const fit = bradleyTerry([
      [0, 1e6],
      [1, 0],
    ]);
    if (fit.status !== "estimated") throw new Error(fit.status);
    expect((fit.logStrengths[0] ?? 0) - (fit.logStrengths[1] ?? 0)).toBeCloseTo(Math.log(1e6), 9);
    expect(() => bradleyTerry([[0, 1], [1]])).toThrow(RangeError);
    expect(() =>
      bradleyTerry([
        [0, -1],
        [1, 0],
      ]),
    ).toThrow(RangeError);
    expect(() =>
      bradleyTerry([
        [1, 1],
        [1, 0],
      ]),
    ).toThrow(RangeError);
    expect(bradleyTerry([])).toMatchObject({ reason: "no_data" });
  });
});

describe("Elo intervals over roles", () => {
  const roles = Array.from({ length: 12 }, (_, role): readonly [string, WinMatrix] => [
    `role-${role}`,
    role % 3 === 0
      ? [
          [0, 1, 2],
          [2, 0, 1],
          [1, 2, 0],
        ]
      : [
          [0, 3, 2],
          [1, 0, 2],
          [1, 1, 0],
        ],
  ]);

  it("contain the fit and do not depend on the order of roles", () => {
    const expected = bootstrapElo(new Map(roles), { draws: 200 });
    if (expected.status !== "estimated") throw new Error(expected.reason);
    const fit = bradleyTerry(addWins(roles.map(([, wins]) => wins)));
    if (fit.status !== "estimated") throw new Error(fit.status);
    for (const [index, [lower, upper]] of expected.intervals.entries()) {
      expect(lower).toBeLessThan(fit.elo[index] ?? 0);
      expect(upper).toBeGreaterThan(fit.elo[index] ?? 0);
    }
    expect(bootstrapElo(new Map(shuffled(roles, 3)), { draws: 200 })).toEqual(expected);
  });

  it("refuse when resamples lose connectivity", () => {
    const fragile = new Map<string, WinMatrix>([
      [
        "a",
        [
          [0, 1],
          [0, 0],
        ],
      ],
      [
        "b",
        [
          [0, 0],
          [1, 0],
        ],
      ],
    ]);
    expect(bootstrapElo(fragile, { draws: 100 })).toMatchObject({ reason: "too_many_degenerate_draws" });
    expect(bootstrapElo(new Map())).toMatchObject({ reason: "no_data" });
  });
});
