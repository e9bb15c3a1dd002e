import { DEFAULT_CONFIDENCE, estimateMean, estimated, notEstimated, type Estimate } from "./estimate.ts";
import { sortedEntries, type Clusters } from "./observations.ts";
import type { Pair } from "./ratio.ts";
import { sumOfSquares } from "./spread.ts";
import { mean, sum } from "./sum.ts";

/**
 * sum(test)/sum(reference) over all calls with an SE linearised and clustered by role, t(G - 1):
 * u_g = sum(test - R reference), SE = sqrt(G/(G - 1) sum(u_g^2)) / sum(reference).
 * Takes scored calls; RangeError when the references do not sum to more than 0.
 */
export function ratioOfMeans(
  clusters: ReadonlyMap<string, readonly Pair[]>,
  confidence: number = DEFAULT_CONFIDENCE,
): Estimate {
  const groups = sortedEntries(clusters).flatMap(([, pairs]) => (pairs.length > 0 ? [pairs] : []));
  if (groups.length === 0) return notEstimated("no_data");
  const references = sum(groups.flat().map(([, reference]) => reference));
  if (!(references > 0)) throw new RangeError(`References must sum to more than 0, got ${references}`);
  const estimate = sum(groups.flat().map(([test]) => test)) / references;
  if (groups.length < 2) return notEstimated("fewer_than_2_clusters", estimate);
  const residuals = groups.map((pairs) => clusterResidual(pairs, estimate));
  const spread = (groups.length / (groups.length - 1)) * sumOfSquares(residuals);
  const moments = {
    estimate,
    se: Math.sqrt(spread) / references,
    df: groups.length - 1,
    clusters: groups.length,
  };
  return estimated(moments, confidence);
}

/**
 * exp of the macro mean of log-ratios by cluster; the interval is the log-scale t interval, exponentiated,
 * hence not symmetric, and `se` is its first-order value estimate x SE(log).
 */
export function geometricMean(logRatios: Clusters, confidence: number = DEFAULT_CONFIDENCE): Estimate {
  const clusterMeans = [...logRatios.values()].filter((values) => values.length > 0).map(mean);
  const logs = estimateMean(clusterMeans, confidence);
  if (logs.status === "undefined")
    return notEstimated(logs.reason, logs.estimate === null ? null : Math.exp(logs.estimate));
  const estimate = Math.exp(logs.estimate);
  const [lower, upper] = logs.interval;
  return { ...logs, estimate, se: estimate * logs.se, interval: [Math.exp(lower), Math.exp(upper)] };
}

function clusterResidual(pairs: readonly Pair[], ratio: number): number {
  const test = sum(pairs.map((pair) => pair[0]));
  const expected = ratio * sum(pairs.map((pair) => pair[1]));
  // Clusters of exactly the pooled ratio must give 0, not the rounding of ratio * sum.
  return Math.abs(test - expected) <= 1e-12 * Math.abs(test) ? 0 : test - expected;
}
