import { DEFAULT_CONFIDENCE, estimateMean, estimated, notEstimated, type Estimate } from "./estimate.ts";
import { sortedEntries, type Clusters } from "./observations.ts";
import { deviations, standardErrorOfMean, sumOfSquares } from "./spread.ts";
import { mean, sum } from "./sum.ts";
import { varianceComponents } from "./variance-components.ts";

/** Means over clusters of scores, with every standard error a reader may want beside them. */
export interface ClusterSummary {
  /** Mean of cluster means, SE = SD/sqrt(G), t(G - 1): the primary estimand. */
  readonly macro: Estimate;
  /** Mean over all values with the CR1 standard error and t(G - 1). */
  readonly micro: Estimate;
  readonly values: number;
  readonly clusterMeans: readonly ClusterMean[];
  /** Clusters where nothing was scored; they are in no mean. */
  readonly emptyClusters: readonly string[];
  /** Ignores clustering; CR0 is Miller 2024 (arXiv 2411.00640), CR1 multiplies its square by G/(G - 1). */
  readonly seClt: number | null;
  readonly seCr0: number | null;
  readonly seCr1: number | null;
  readonly icc: number | null;
  /** 1 + (k - 1) ICC with k = sum(n^2)/N, and the squared ratio of the CR1 and CLT errors. */
  readonly designEffect: number | null;
  readonly empiricalDesignEffect: number | null;
}

/** Mean of the `n` scored values of one cluster, in score units. */
export interface ClusterMean {
  readonly cluster: string;
  readonly n: number;
  readonly mean: number;
}

/** Summary of scores by cluster (role). Fewer than two clusters give a mean but no error. Golden C1, D1 to D5. */
export function summarizeClusters(
  clusters: Clusters,
  confidence: number = DEFAULT_CONFIDENCE,
): ClusterSummary {
  const filled = new Map(sortedEntries(clusters).filter(([, values]) => values.length > 0));
  const all = [...filled.values()].flat();
  const clusterMeans = [...filled].map(([cluster, values]) => ({
    cluster,
    n: values.length,
    mean: mean(values),
  }));
  const errors = standardErrors(filled);
  return {
    macro: estimateMean(
      clusterMeans.map((row) => row.mean),
      confidence,
    ),
    micro: microMean(all, { se: errors.seCr1, clusters: filled.size, confidence }),
    values: all.length,
    clusterMeans,
    emptyClusters: sortedEntries(clusters).flatMap(([cluster, values]) =>
      values.length === 0 ? [cluster] : [],
    ),
    ...errors,
    ...designEffects(filled, errors),
  };
}

interface StandardErrors {
  readonly seClt: number | null;
  readonly seCr0: number | null;
  readonly seCr1: number | null;
}

function standardErrors(filled: Clusters): StandardErrors {
  const all = [...filled.values()].flat();
  const seClt = all.length < 2 ? null : standardErrorOfMean(all);
  if (filled.size < 2) return { seClt, seCr0: null, seCr1: null };
  const centred = deviations(all);
  let start = 0;
  const clusterSums: number[] = [];
  for (const values of filled.values()) {
    clusterSums.push(sum(centred.slice(start, start + values.length)));
    start += values.length;
  }
  const seCr0 = Math.sqrt(sumOfSquares(clusterSums)) / all.length;
  return { seClt, seCr0, seCr1: seCr0 * Math.sqrt(filled.size / (filled.size - 1)) };
}

function microMean(
  all: readonly number[],
  { se, clusters, confidence }: { se: number | null; clusters: number; confidence: number },
): Estimate {
  if (all.length === 0) return notEstimated("no_data");
  const estimate = mean(all);
  if (se === null) return notEstimated("fewer_than_2_clusters", estimate);
  return estimated({ estimate, se, df: clusters - 1, clusters }, confidence);
}

function designEffects(
  filled: Clusters,
  { seClt, seCr1 }: StandardErrors,
): Pick<ClusterSummary, "icc" | "designEffect" | "empiricalDesignEffect"> {
  const icc = varianceComponents(filled)?.icc ?? null;
  const sizes = [...filled.values()].map((values) => values.length);
  return {
    icc,
    designEffect: icc === null ? null : 1 + (sumOfSquares(sizes) / sum(sizes) - 1) * icc,
    empiricalDesignEffect: seClt === null || seCr1 === null || seClt === 0 ? null : (seCr1 / seClt) ** 2,
  };
}
