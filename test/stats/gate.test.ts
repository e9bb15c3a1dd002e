import { describe, expect, it } from "vitest";
import { z } from "zod";
import { equivalence, estimateMean, gate, mdeDid, mdePaired, varianceOfMean } from "../../src/stats/index.ts";
import { Numbers } from "./examples.ts";
import { golden } from "./golden.ts";

describe("minimum detectable effect", () => {
  it("equals scipy's for paired designs and the difference in differences", () => {
    const { input, expected, close } = golden(
      "L1_mde_paired_and_did",
      z.object({
        sd_role_of_paired_diff: z.number(),
        sd_session_within: z.number(),
        sessions_per_role: z.number(),
        G_all: z.number(),
        G_ID: z.number(),
        G_OOD: z.number(),
        G_zh: z.number(),
        alpha: z.number(),
        power: z.number(),
      }),
      z.record(z.string(), z.number()),
    );
    const spread = {
      sdRole: input.sd_role_of_paired_diff,
      sdSession: input.sd_session_within,
      sessionsPerRole: input.sessions_per_role,
    };
    const options = { alpha: input.alpha, power: input.power };
    for (const [name, roles] of [
      ["all", input.G_all],
      ["ood", input.G_OOD],
      ["zh", input.G_zh],
    ] as const) {
      const result = mdePaired(spread, roles, options);
      if (result.status !== "estimated") throw new Error(result.reason);
      close([result.se, result.mde], [expected[`se_${name}`], expected[`mde_${name}`]]);
    }
    const did = mdeDid(spread, { seen: input.G_ID, unseen: input.G_OOD }, options);
    close(did, {
      status: "estimated",
      se: expected["se_did"],
      df: expected["df_did"],
      mde: expected["mde_did"],
    });
  });

  // Rounded table: SDs of role and session, then all 98 roles, 20 unseen, 78 against 20, 16 Chinese.
  it.each([
    [0.1, 0.2, [0.04, 0.093, 0.103, 0.106]],
    [0.2, 0.2, [0.064, 0.148, 0.162, 0.168]],
    [0.37, 0.17, [0.109, 0.251, 0.276, 0.285]],
    [1.07, 0.63, [0.319, 0.737, 0.81, 0.836]],
  ])("for SDs %d and %d agrees with the planning table", (sdRole, sdSession, want) => {
    const spread = { sdRole, sdSession, sessionsPerRole: 4 };
    const results = [
      mdePaired(spread, 98),
      mdePaired(spread, 20),
      mdeDid(spread, { seen: 78, unseen: 20 }),
      mdePaired(spread, 16),
    ];
    for (const [index, result] of results.entries())
      expect(Math.abs((result.status === "estimated" ? result.mde : 0) - (want[index] ?? 0))).toBeLessThan(
        0.002,
      );
  });

  it("is undefined for designs that cannot carry an error", () => {
    const spread = { sdRole: 0.1, sdSession: 0.2, sessionsPerRole: 4 };
    expect(mdePaired(spread, 1)).toMatchObject({ reason: "fewer_than_2_clusters" });
    expect(mdeDid(spread, { seen: 78, unseen: 0 })).toMatchObject({ reason: "no_unseen_roles" });
    expect(mdeDid(spread, { seen: 78, unseen: 1 })).toMatchObject({ reason: "fewer_than_2_per_side" });
    expect(() => mdePaired({ ...spread, sdRole: Number.NaN }, 20)).toThrow(RangeError);
  });

  it("splits the variance of a mean by where more calls would help", () => {
    const parts = varianceOfMean(
      { role: 0.1, session: 0.2, judge: 0.3 },
      { roles: 20, sessionsPerRole: 4, callsPerSession: 6 },
    );
    expect(parts.role).toBeCloseTo(0.01 / 20, 15);
    expect(parts.session).toBeCloseTo(0.04 / 80, 15);
    expect(parts.judge).toBeCloseTo(0.09 / 480, 15);
    expect(parts.total).toBeCloseTo(parts.role + parts.session + parts.judge, 15);
  });
});

describe("gate", () => {
  it("follows the verdict table", () => {
    const Case = z.object({
      diff: z.number().nullable(),
      se: z.number().nullable(),
      df: z.number().nullable(),
      margin: z.number(),
    });
    const { input, expected, close } = golden(
      "L3_non_inferiority_gate",
      z.object({ cases: z.array(Case), one_sided_alpha: z.number() }),
      z.object({
        verdicts: z.array(z.string()),
        exit_codes: Numbers,
        lower95: z.array(z.number().nullable()),
      }),
    );
    const results = input.cases.map(({ diff, se, df, margin }) =>
      gate(diff === null || se === null || df === null ? null : { estimate: diff, se, df }, {
        margin,
        oneSidedAlpha: input.one_sided_alpha,
      }),
    );
    expect(results.map((result) => result.verdict)).toEqual(expected.verdicts);
    expect(results.map((result) => result.exitCode)).toEqual(expected.exit_codes);
    close(
      results.map((result) => result.interval?.[0] ?? null),
      expected.lower95,
    );
  });

  it("does not pass a difference whose error is unknown", () => {
    expect(gate(estimateMean([0.5]), { margin: 0.02 })).toEqual({
      verdict: "inconclusive",
      exitCode: 6,
      interval: null,
    });
    expect(gate(estimateMean([]), { margin: 0.02 }).verdict).toBe("no_data");
    expect(() => gate(null, { margin: -0.1 })).toThrow(RangeError);
    expect(() => gate(null, { margin: Number.NaN })).toThrow(RangeError);
  });

  it("finds one system under two names non-inferior to itself, but not improved", () => {
    expect(gate(estimateMean([0, 0, 0]), { margin: 0.02 })).toMatchObject({
      verdict: "non_inferior",
      interval: [0, 0],
    });
  });
});

describe("equivalence", () => {
  it("needs the interval inside the margin on both sides", () => {
    const near = estimateMean([0.01, -0.01, 0, 0.005, -0.005, 0]);
    expect(equivalence(near, { margin: 0.05 })?.equivalent).toBe(true);
    expect(equivalence(near, { margin: 0.005 })?.equivalent).toBe(false);
    expect(equivalence(estimateMean([0.1, 0.11, 0.12]), { margin: 0.05 })?.equivalent).toBe(false);
    expect(equivalence(estimateMean([0]), { margin: 0.05 })).toBeNull();
  });
});
