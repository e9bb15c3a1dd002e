import { tTwoSidedP } from "./distributions.ts";
import { DEFAULT_CONFIDENCE, estimateMean, type Estimate } from "./estimate.ts";
import { compareText, type Observation } from "./observations.ts";
import { pairObservations, type Dropped, type PairedValue } from "./pairing.ts";
import { signFlipTest, type PermutationOptions, type PermutationTest } from "./permutation.ts";
import { pearson, variance } from "./spread.ts";
import { mean } from "./sum.ts";

/** One role: means of both systems over the instances scored for both, and their difference. */
export interface ClusterDifference {
  readonly cluster: string;
  readonly n: number;
  readonly meanA: number;
  readonly meanB: number;
  readonly difference: number;
}

/** A minus B, macro over clusters, in score units. */
export interface PairedDifference {
  readonly difference: Estimate;
  /** Null when the differences do not vary; p is then 1 for a difference of 0 and null otherwise. */
  readonly t: number | null;
  readonly p: number | null;
  readonly permutation: PermutationTest;
  readonly meanA: number | null;
  readonly meanB: number | null;
  /** SE had the systems been scored on different roles: what pairing saves. */
  readonly seUnpaired: number | null;
  /** Correlation of the two systems' role means. */
  readonly correlation: number | null;
  readonly clusters: readonly ClusterDifference[];
  readonly dropped: readonly Dropped[];
}

/** Permutation draws and the confidence of the interval, 0.95 unless told. */
export interface PairedOptions extends PermutationOptions {
  readonly confidence?: number;
}

/**
 * D_g = mean over shared instances of a - b, then the mean over roles with SD(D_g)/sqrt(G) and t(G - 1).
 * Only instances scored for both count; the rest is listed. A system against itself gives 0, SE 0, p 1. Golden E1.
 */
export function pairedDifference(
  a: readonly Observation[],
  b: readonly Observation[],
  { confidence = DEFAULT_CONFIDENCE, ...permutation }: PairedOptions = {},
): PairedDifference {
  const { shared, dropped } = pairObservations(a, b);
  const clusters = [...shared].map(([cluster, values]) => clusterDifference(cluster, values));
  clusters.sort((x, y) => compareText(x.cluster, y.cluster));
  const differences = clusters.map((row) => row.difference);
  const difference = estimateMean(differences, confidence);
  return {
    difference,
    ...tTest(difference),
    permutation: signFlipTest(differences, permutation),
    ...compareMeans(clusters),
    clusters,
    dropped,
  };
}

/** t statistic and two-sided p of an estimate against 0; see `PairedDifference` for a spread of 0. */
export function tTest(estimate: Estimate): { readonly t: number | null; readonly p: number | null } {
  if (estimate.status === "undefined") return { t: null, p: null };
  if (estimate.se === 0) return { t: null, p: estimate.estimate === 0 ? 1 : null };
  const t = estimate.estimate / estimate.se;
  return { t, p: tTwoSidedP(t, estimate.df) };
}

function clusterDifference(cluster: string, values: readonly PairedValue[]): ClusterDifference {
  return {
    cluster,
    n: values.length,
    meanA: mean(values.map((value) => value.a)),
    meanB: mean(values.map((value) => value.b)),
    difference: mean(values.map((value) => value.a - value.b)),
  };
}

function compareMeans(
  clusters: readonly ClusterDifference[],
): Pick<PairedDifference, "meanA" | "meanB" | "seUnpaired" | "correlation"> {
  if (clusters.length === 0) return { meanA: null, meanB: null, seUnpaired: null, correlation: null };
  const a = clusters.map((row) => row.meanA);
  const b = clusters.map((row) => row.meanB);
  const seUnpaired = clusters.length < 2 ? null : Math.sqrt((variance(a) + variance(b)) / clusters.length);
  return { meanA: mean(a), meanB: mean(b), seUnpaired, correlation: pearson(a, b) };
}
