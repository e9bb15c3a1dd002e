import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  groupByCluster,
  normalQuantile,
  summarizeClusters,
  varianceComponents,
} from "../../src/stats/index.ts";
import { ByName, clustersFrom, randomSystem, shuffled, uniforms } from "./examples.ts";
import { golden } from "./golden.ts";

const Input = z.object({ clusters: ByName });

describe("means over clusters", () => {
  it("differ between macro and micro when sessions are missing", () => {
    const { input, expected, close } = golden(
      "C1_macro_vs_micro",
      z.object({ role_scores: ByName }),
      z.object({ micro_mean: z.number(), macro_mean_over_roles: z.number() }),
    );
    const summary = summarizeClusters(clustersFrom(input.role_scores));
    close(summary.micro.estimate, expected.micro_mean);
    close(summary.macro.estimate, expected.macro_mean_over_roles);
  });

  it("carry CLT, CR0, CR1 errors and the design effect", () => {
    const { input, expected, close } = golden(
      "D1_clt_vs_clustered_se_balanced",
      Input,
      z.record(z.string(), z.union([z.number(), z.array(z.number())])),
    );
    const summary = summarizeClusters(clustersFrom(input.clusters));
    if (summary.macro.status !== "estimated" || summary.micro.status !== "estimated")
      throw new Error("no estimate");
    const { macro, micro } = summary;
    close([macro.estimate, micro.estimate], [expected["mean"], expected["mean"]]);
    close(summary.seClt, expected["se_clt"]);
    close(summary.seCr0, expected["se_cluster_CR0"]);
    close([summary.seCr1, micro.se], Array(2).fill(expected["se_cluster_CR1_G/(G-1)"]));
    close(macro.se, expected["sd_role_means_over_sqrt_G"]);
    close(macro.df, expected["df"]);
    close(macro.interval, expected["ci95"]);
    close(micro.interval, expected["ci95"]);
    close((macro.interval[1] - macro.estimate) / macro.se, expected["t_crit_975"]);
    close(summary.icc, expected["icc_oneway"]);
    close(summary.designEffect, expected["design_effect_1+(k-1)icc"]);
    close(summary.empiricalDesignEffect, expected["empirical_deff"]);
  });

  it("have no error for one cluster: 0 would read as certainty", () => {
    const { input, expected, close } = golden(
      "D3_single_cluster",
      Input,
      z.object({ mean: z.number(), se: z.null(), ci95: z.null(), reason: z.string() }),
    );
    const summary = summarizeClusters(clustersFrom(input.clusters));
    close(summary.macro, { status: "undefined", reason: expected.reason, estimate: expected.mean });
    close(summary.micro, { status: "undefined", reason: expected.reason, estimate: expected.mean });
    expect([summary.seCr0, summary.seCr1, summary.icc]).toEqual([null, null, null]);
  });

  it("reproduce the CLT error for clusters of one", () => {
    const { input, expected, close } = golden(
      "D4_singleton_clusters_equal_clt",
      Input,
      z.object({ se_cluster_CR1: z.number(), se_clt: z.number() }),
    );
    const summary = summarizeClusters(clustersFrom(input.clusters));
    close(summary.seCr1, expected.se_cluster_CR1);
    close(summary.seClt, expected.se_clt);
    expect(summary.icc).toBeNull();
  });

  it("tell true zero variance from an error that cannot be had", () => {
    const { input, expected, close } = golden(
      "D5_constant_scores",
      Input,
      z.object({
        mean: z.number(),
        se: z.number(),
        ci95: z.array(z.number()),
        flag: z.literal("zero_variance"),
      }),
    );
    const { macro, micro, icc } = summarizeClusters(clustersFrom(input.clusters));
    for (const estimate of [macro, micro]) {
      if (estimate.status !== "estimated") throw new Error("no estimate");
      close([estimate.estimate, estimate.se, estimate.interval], [expected.mean, expected.se, expected.ci95]);
      expect(estimate.zeroVariance).toBe(true);
    }
    expect(icc).toBeNull();
  });

  it("see no variance in a constant that has no exact binary form", () => {
    const { macro, seClt, seCr1 } = summarizeClusters(
      clustersFrom({ a: [0.1, 0.1, 0.1], b: [0.1], c: [0.1, 0.1] }),
    );
    expect(macro).toMatchObject({ se: 0, zeroVariance: true });
    expect([seClt, seCr1]).toEqual([0, 0]);
  });

  it("do not depend on the order of roles or sessions", () => {
    const system = randomSystem(13, 5, 4);
    const expected = summarizeClusters(groupByCluster(system));
    for (const seed of [1, 2, 3, 4, 5])
      expect(summarizeClusters(groupByCluster(shuffled(system, seed)))).toEqual(expected);
  });

  it("move with a constant and keep their error", () => {
    const system = randomSystem(7, 4, 9);
    const moved = system.map((one) => ({ ...one, value: (one.value ?? 0) + 10 }));
    const before = summarizeClusters(groupByCluster(system)).macro;
    const after = summarizeClusters(groupByCluster(moved)).macro;
    if (before.status !== "estimated" || after.status !== "estimated") throw new Error("no estimate");
    expect(after.estimate - before.estimate).toBeCloseTo(10, 12);
    expect(after.se).toBeCloseTo(before.se, 12);
  });

  it("cover the truth about 95 times in 100 with 16 roles, where ignoring roles does not", () => {
    const runs = 600;
    let covered = 0;
    let naive = 0;
    for (let run = 0; run < runs; run += 1) {
      const normals = uniforms(16 * 5, run).map((value) => normalQuantile((value * 2 ** 32 + 0.5) / 2 ** 32));
      const roles = Array.from({ length: 16 }, (_, role) => {
        const sessions = normals.slice(role * 5 + 1, role * 5 + 5);
        return sessions.map((noise) => 0.25 * (normals[role * 5] ?? 0) + 0.35 * noise);
      });
      const { macro, seClt } = summarizeClusters(clustersFrom(Object.fromEntries(roles.entries())));
      if (macro.status === "estimated" && macro.interval[0] <= 0 && macro.interval[1] >= 0) covered += 1;
      if (Math.abs(macro.estimate ?? 9) <= 1.96 * (seClt ?? 0)) naive += 1;
    }
    // Three binomial standard errors either side of 0.95.
    expect(Math.abs(covered / runs - 0.95)).toBeLessThan(0.027);
    expect(naive / runs).toBeLessThan(0.88);
  });

  it("name the roles in which nothing was scored", () => {
    const summary = summarizeClusters(
      groupByCluster([
        { cluster: "villain", instance: "0", value: null },
        { cluster: "b", instance: "0", value: 1 },
        { cluster: "a", instance: "0", value: 2 },
      ]),
    );
    expect(summary.emptyClusters).toEqual(["villain"]);
    expect(summary.clusterMeans.map((row) => row.cluster)).toEqual(["a", "b"]);
    expect(summarizeClusters(new Map()).macro).toEqual({
      status: "undefined",
      reason: "no_data",
      estimate: null,
    });
  });

  it("refuse values that are not finite", () => {
    expect(() => summarizeClusters(clustersFrom({ a: [1], b: [Number.NaN] }))).toThrow(RangeError);
  });
});

describe("variance components", () => {
  it("cut a negative variance between roles at 0 but keep the sign of the ICC", () => {
    const components = varianceComponents(clustersFrom({ a: [0, 1], b: [1, 0] }));
    expect(components).toMatchObject({ between: 0, within: 0.5, icc: -1 });
  });
});
