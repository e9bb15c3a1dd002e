import { tQuantile } from "./distributions.ts";
import { standardErrorOfMean } from "./spread.ts";
import { mean } from "./sum.ts";

/** Lower and upper limit, in the unit of the estimate. */
export type Interval = readonly [lower: number, upper: number];

/** Why a number could not be given. A label for people and JSON, never a value to compute with. */
export type Reason =
  | "no_data"
  | "fewer_than_2_clusters"
  | "fewer_than_2_per_side"
  | "fewer_than_4_pairs"
  | "no_replication_within_clusters"
  | "no_seen_roles"
  | "no_unseen_roles"
  | "roles_on_both_sides"
  | "stratum_without_seen_roles"
  | "no_pairable_values"
  | "perfect_correlation"
  | "denominator_not_positive"
  | "too_many_degenerate_draws"
  | "incomplete"
  | "zero_variance";

/** `se` and `interval` are in the unit of `estimate`; `clusters` counts the independent units behind `df`. */
export interface Estimated {
  readonly status: "estimated";
  readonly estimate: number;
  readonly se: number;
  readonly df: number;
  readonly confidence: number;
  readonly interval: Interval;
  readonly clusters: number;
  /** True when all units agree exactly: an SE of 0 that is real, unlike an SE that cannot be had. */
  readonly zeroVariance: boolean;
}

/** No interval can be given; `estimate` still holds the point value where there is one. */
export interface NotEstimated {
  readonly status: "undefined";
  readonly reason: Reason;
  readonly estimate: number | null;
}

/** A number with its interval, or the reason why there is none. */
export type Estimate = Estimated | NotEstimated;

/** Two-sided confidence of every interval unless told. */
export const DEFAULT_CONFIDENCE = 0.95;

/** Mean of independent units with SD/sqrt(n) and a t(n - 1) interval. Undefined below two units (golden D3). */
export function estimateMean(values: readonly number[], confidence: number = DEFAULT_CONFIDENCE): Estimate {
  if (values.length === 0) return notEstimated("no_data");
  const estimate = mean(values);
  if (values.length < 2) return notEstimated("fewer_than_2_clusters", estimate);
  const moments = {
    estimate,
    se: standardErrorOfMean(values),
    df: values.length - 1,
    clusters: values.length,
  };
  return estimated(moments, confidence);
}

/** Estimate and SE to a two-sided t interval at the given confidence. */
export function estimated(
  moments: Pick<Estimated, "estimate" | "se" | "df" | "clusters">,
  confidence: number = DEFAULT_CONFIDENCE,
): Estimated {
  const { estimate, se, df, clusters } = moments;
  const half = tQuantile((1 + confidence) / 2, df) * se;
  const interval: Interval = [estimate - half, estimate + half];
  return { status: "estimated", estimate, se, df, confidence, interval, clusters, zeroVariance: se === 0 };
}

/** An estimate without interval, and with the point value where there is one. */
export function notEstimated(reason: Reason, estimate: number | null = null): NotEstimated {
  return { status: "undefined", reason, estimate };
}
