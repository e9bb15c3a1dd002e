import { describe, expect, it } from "vitest";
import { z } from "zod";
import { bootstrapClusters, bootstrapMean, estimateMean, mean, spearman } from "../../src/stats/index.ts";
import { Numbers, shuffled, uniforms } from "./examples.ts";
import { golden } from "./golden.ts";

const estimatedFrom = (
  ...args: Parameters<typeof bootstrapMean>
): Extract<ReturnType<typeof bootstrapMean>, { status: "estimated" }> => {
  const result = bootstrapMean(...args);
  if (result.status !== "estimated") throw new Error(result.reason);
  return result;
};

describe("bootstrap of a mean over roles", () => {
  it("enumerates all resamples of a few roles", () => {
    const { input, expected, close } = golden(
      "F1_exhaustive_cluster_bootstrap",
      z.object({ role_means: Numbers }),
      z.object({
        theta_hat: z.number(),
        boot_mean: z.number(),
        boot_se_population: z.number(),
        closed_form_se: z.number(),
        percentile95_type7: Numbers,
        bca: z.object({
          z0: z.number(),
          acceleration: z.number(),
          alpha1: z.number(),
          alpha2: z.number(),
          ci95_type7: Numbers,
        }),
      }),
    );
    const result = estimatedFrom(input.role_means);
    expect(result).toMatchObject({ method: "exhaustive", resamples: 256 });
    close([result.estimate, result.bootMean], [expected.theta_hat, expected.boot_mean]);
    close([result.bootSe, result.bootSe], [expected.boot_se_population, expected.closed_form_se]);
    close(result.percentile, expected.percentile95_type7);
    const { ci95_type7: interval, ...numbers } = expected.bca;
    close(result.bca, { ...numbers, interval });
  });

  it("draws the same resamples for a seed, whatever the order of roles", () => {
    const roles = uniforms(20, 2);
    const expected = estimatedFrom(roles, { draws: 500, seed: 4 });
    expect(expected).toMatchObject({ method: "sampled", resamples: 500 });
    expect(estimatedFrom(shuffled(roles, 9), { draws: 500, seed: 4 })).toEqual(expected);
    expect(estimatedFrom(roles, { draws: 500, seed: 5 }).percentile).not.toEqual(expected.percentile);
  });

  it("agrees with the t interval on many well-behaved roles", () => {
    const roles = uniforms(60, 3);
    const result = estimatedFrom(roles, { draws: 4000 });
    const plain = estimateMean(roles);
    if (plain.status !== "estimated") throw new Error(plain.reason);
    for (const interval of [result.percentile, result.bca?.interval, result.bootstrapT]) {
      expect(interval?.[0]).toBeCloseTo(plain.interval[0], 1);
      expect(interval?.[1]).toBeCloseTo(plain.interval[1], 1);
    }
    expect(result.bootSe).toBeCloseTo(plain.se, 2);
  });

  it("stretches the studentized interval towards the long tail", () => {
    const { estimate, bootstrapT } = estimatedFrom(
      uniforms(15, 4).map((value) => Math.exp(4 * value)),
      { draws: 2000 },
    );
    const [lower = 0, upper = 0] = bootstrapT ?? [];
    expect(upper - estimate).toBeGreaterThan(1.2 * (estimate - lower));
  });

  it("moves with a constant", () => {
    const roles = uniforms(12, 6);
    const before = estimatedFrom(roles, { draws: 300 });
    const after = estimatedFrom(
      roles.map((value) => value + 3),
      { draws: 300 },
    );
    expect((after.bootstrapT?.[0] ?? 0) - (before.bootstrapT?.[0] ?? 0)).toBeCloseTo(3, 9);
    expect((after.bca?.interval[1] ?? 0) - (before.bca?.interval[1] ?? 0)).toBeCloseTo(3, 9);
  });

  it("gives null for intervals that cannot be had", () => {
    expect(estimatedFrom([2, 2, 2])).toMatchObject({
      percentile: [2, 2],
      bca: null,
      bootstrapT: null,
      bootSe: 0,
    });
    expect(estimatedFrom([1, 2]).bootstrapT).toBeNull();
    expect(bootstrapMean([1])).toMatchObject({ reason: "fewer_than_2_clusters", estimate: 1 });
    expect(bootstrapMean([])).toMatchObject({ reason: "no_data" });
  });
});

describe("bootstrap of any statistic", () => {
  type Role = readonly (readonly [human: number, judge: number])[];
  const rho = (sample: readonly Role[]): number | null =>
    spearman(
      sample.flatMap((role) => role.map(([human]) => human)),
      sample.flatMap((role) => role.map(([, judge]) => judge)),
    ).estimate;

  it("keeps roles whole and does not depend on their order", () => {
    const noise = uniforms(30, 8);
    const roles = Array.from({ length: 10 }, (_, role): readonly [string, Role] => [
      `r${role}`,
      [0, 1, 2].map(
        (session) => [session + role / 5, session + (noise[role * 3 + session] ?? 0) * 2] as const,
      ),
    ]);
    const expected = bootstrapClusters(new Map(roles), rho, { draws: 200 });
    expect(expected).toMatchObject({ status: "estimated", degenerate: 0 });
    expect(bootstrapClusters(new Map(shuffled(roles, 2)), rho, { draws: 200 })).toEqual(expected);
  });

  it("refuses when too many resamples have no value", () => {
    const roles = new Map<string, Role>([
      ["a", [[1, 1]]],
      ["b", [[2, 2]]],
      ["c", [[3, 1]]],
    ]);
    expect(bootstrapClusters(roles, rho)).toMatchObject({ reason: "too_many_degenerate_draws" });
    expect(bootstrapClusters(new Map<string, Role>(), rho)).toMatchObject({ reason: "no_data" });
    expect(bootstrapClusters(new Map([["a", 3]]), (sample) => mean(sample))).toMatchObject({
      reason: "fewer_than_2_clusters",
      estimate: 3,
    });
  });
});
