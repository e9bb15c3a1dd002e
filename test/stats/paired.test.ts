import { describe, expect, it } from "vitest";
import { z } from "zod";
import { pairedDifference, signFlipTest } from "../../src/stats/index.ts";
import { ByName, Numbers, observationsFrom, randomSystem, shuffled } from "./examples.ts";
import { golden } from "./golden.ts";

describe("paired difference", () => {
  it("equals R's paired t test on role means", () => {
    const { input, expected, close } = golden(
      "E1_paired_difference_clustered",
      z.object({ A: ByName, B: ByName }),
      z.object({
        mean_A: z.number(),
        mean_B: z.number(),
        diff: z.number(),
        se_paired_clustered: z.number(),
        t: z.number(),
        df: z.number(),
        p_two_sided: z.number(),
        ci95: Numbers,
        se_if_unpaired: z.number(),
        corr_role_means: z.number(),
      }),
    );
    const result = pairedDifference(observationsFrom(input.A), observationsFrom(input.B));
    if (result.difference.status !== "estimated") throw new Error("no estimate");
    close([result.meanA, result.meanB], [expected.mean_A, expected.mean_B]);
    close(result.difference.estimate, expected.diff);
    close(result.difference.se, expected.se_paired_clustered);
    close(result.difference.df, expected.df);
    close(result.difference.interval, expected.ci95);
    close([result.t, result.p], [expected.t, expected.p_two_sided]);
    close(result.seUnpaired, expected.se_if_unpaired);
    close(result.correlation, expected.corr_role_means);
    expect(result.dropped).toEqual([]);
    expect(result.permutation).toMatchObject({ method: "exact", p: 0.0625 });
  });

  it("is exactly nothing for one system under two names", () => {
    for (const roles of [6, 30]) {
      const system = randomSystem(roles, 4, 3);
      const result = pairedDifference(system, shuffled(system, 8), { draws: 500 });
      expect(result.difference).toMatchObject({ estimate: 0, se: 0, interval: [0, 0], zeroVariance: true });
      expect([result.p, result.t, result.permutation.p]).toEqual([1, null, 1]);
    }
  });

  it("has an error of 0 and no t test when every score moves by the same constant", () => {
    const system = randomSystem(9, 4, 5);
    const moved = system.map((one) => ({ ...one, value: (one.value ?? 0) + 0.1 }));
    const result = pairedDifference(moved, system);
    expect(result.difference).toMatchObject({ se: 0, zeroVariance: true });
    expect(result.difference.estimate).toBeCloseTo(0.1, 12);
    expect([result.p, result.permutation.p]).toEqual([null, 2 ** -8]);
  });

  it("does not depend on the order of either system, sampled test included", () => {
    const a = randomSystem(23, 3, 1);
    const b = randomSystem(23, 3, 2);
    const expected = pairedDifference(a, b, { draws: 300 });
    expect(expected.permutation.method).toBe("sampled");
    for (const seed of [1, 2, 3])
      expect(pairedDifference(shuffled(a, seed), shuffled(b, seed + 10), { draws: 300 })).toEqual(expected);
  });

  it("changes sign when the systems swap and ignores a shift of both", () => {
    const a = randomSystem(8, 3, 1);
    const b = randomSystem(8, 3, 2);
    const shift = (rows: typeof a): typeof a => rows.map((one) => ({ ...one, value: (one.value ?? 0) + 5 }));
    const forward = pairedDifference(a, b).difference;
    expect(pairedDifference(b, a).difference.estimate).toBe(-(forward.estimate ?? 0));
    expect(pairedDifference(shift(a), shift(b)).difference.estimate).toBeCloseTo(forward.estimate ?? 0, 12);
  });

  it("uses the intersection and says what it dropped, and why", () => {
    const a = observationsFrom({ r1: [1, 2, null, null], r2: [3], only: [9] });
    const b = observationsFrom({ r1: [1, null, 3, null, 5], r2: [1] });
    const result = pairedDifference(a, b);
    expect(result.clusters.map(({ cluster, n }) => [cluster, n])).toEqual([
      ["r1", 1],
      ["r2", 1],
    ]);
    expect(result.dropped).toEqual([
      { cluster: "only", instance: "0", reason: "only_in_a" },
      { cluster: "r1", instance: "1", reason: "unscored_in_b" },
      { cluster: "r1", instance: "2", reason: "unscored_in_a" },
      { cluster: "r1", instance: "3", reason: "unscored_in_both" },
      { cluster: "r1", instance: "4", reason: "only_in_b" },
    ]);
  });

  it("is undefined without overlap, and refuses an instance that comes twice", () => {
    const a = observationsFrom({ r1: [1] });
    expect(pairedDifference(a, observationsFrom({ r2: [1] })).difference).toMatchObject({
      reason: "no_data",
    });
    expect(pairedDifference(a, a)).toMatchObject({
      difference: { status: "undefined", reason: "fewer_than_2_clusters", estimate: 0 },
      p: null,
    });
    expect(() => pairedDifference([...a, ...a], a)).toThrow(/twice/);
  });

  it("survives JSON unchanged", () => {
    const result = pairedDifference(randomSystem(5, 2, 1), randomSystem(5, 2, 2));
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  });
});

describe("sign-flip test", () => {
  it("enumerates all sign vectors and treats rounding as a tie", () => {
    const { input, expected, close } = golden(
      "E2_exact_sign_flip_permutation",
      z.object({ role_mean_differences: Numbers }),
      z.object({
        n_sign_assignments: z.number(),
        n_as_extreme: z.number(),
        p_two_sided: z.number(),
        min_attainable_p: z.number(),
      }),
    );
    close(signFlipTest(input.role_mean_differences), {
      method: "exact",
      assignments: expected.n_sign_assignments,
      asExtreme: expected.n_as_extreme,
      p: expected.p_two_sided,
      minimumP: expected.min_attainable_p,
    });
  });

  it("does not lose a tie to rounding", () => {
    // Added in another order, 1.3 and 0 come out a bit smaller than the observed sums.
    expect(signFlipTest([0.1, 0.6, 0.6])).toMatchObject({ asExtreme: 2, p: 0.25 });
    expect(signFlipTest([-0.3, -0.1, 0.4])).toMatchObject({ asExtreme: 8, p: 1 });
  });

  it("samples with a seed to the same p as enumeration", () => {
    const differences = [0.3, -0.1, 0.25, 0.4, -0.2, 0.15, 0.05, 0.3, -0.05, 0.2];
    const exact = signFlipTest(differences);
    const options = { exactUpTo: 5, seed: 7 };
    const sampled = signFlipTest(differences, options);
    expect(sampled).toMatchObject({ method: "sampled", assignments: 100_000 });
    expect(Math.abs(sampled.p - exact.p)).toBeLessThan(4 * Math.sqrt((exact.p * (1 - exact.p)) / 100_000));
    expect(signFlipTest(differences, options)).toEqual(sampled);
    expect(signFlipTest(differences, { ...options, seed: 8 }).p).not.toBe(sampled.p);
  });

  it("enumerates 20 roles exactly", () => {
    const result = signFlipTest(Array.from({ length: 20 }, () => 1));
    expect(result).toMatchObject({ method: "exact", asExtreme: 2, p: 2 ** -19, minimumP: 2 ** -19 });
  });
});
