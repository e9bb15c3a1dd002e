import type { Clusters } from "./observations.ts";
import { deviations, sumOfSquares } from "./spread.ts";
import { mean, sum } from "./sum.ts";

/** One-way random-effects analysis of variance. Variances are in squared score units. */
export interface VarianceComponents {
  /** Variance between clusters, cut at 0. */
  readonly between: number;
  /** Variance of sessions inside a cluster. */
  readonly within: number;
  /** Intraclass correlation of two sessions of one cluster; may be negative, null when nothing varies. */
  readonly icc: number | null;
}

/**
 * Method-of-moments components; unequal cluster sizes use k0 = (N - sum(n^2)/N)/(G - 1).
 * Null below two clusters or when every cluster holds one value. Golden D1.
 */
export function varianceComponents(clusters: Clusters): VarianceComponents | null {
  const groups = [...clusters.values()].filter((values) => values.length > 0);
  const sizes = groups.map((values) => values.length);
  const n = sum(sizes);
  if (groups.length < 2 || n === groups.length) return null;
  const grand = mean(groups.flat());
  const betweenSquares = sum(groups.map((values) => values.length * (mean(values) - grand) ** 2));
  const msBetween = betweenSquares / (groups.length - 1);
  const msWithin = sum(groups.map((values) => sumOfSquares(deviations(values)))) / (n - groups.length);
  const k0 = (n - sumOfSquares(sizes) / n) / (groups.length - 1);
  const total = msBetween + (k0 - 1) * msWithin;
  return {
    between: Math.max(0, (msBetween - msWithin) / k0),
    within: msWithin,
    icc: constant(groups.flat()) || total === 0 ? null : (msBetween - msWithin) / total,
  };
}

const constant = (values: readonly number[]): boolean => sumOfSquares(deviations(values)) === 0;
