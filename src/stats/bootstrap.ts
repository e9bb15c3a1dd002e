import { normalCdf, normalQuantile } from "./distributions.ts";
import { DEFAULT_CONFIDENCE, notEstimated, type Interval, type NotEstimated } from "./estimate.ts";
import { sortedEntries } from "./observations.ts";
import { ascending, sortedQuantile } from "./quantile.ts";
import { resample, type Resampled, type ResampleOptions } from "./resample.ts";
import { deviations, standardErrorOfMean, sumOfSquares } from "./spread.ts";
import { mean, sum } from "./sum.ts";

/** Resampling and the confidence of the interval, 0.95 unless told. */
export interface BootstrapOptions extends ResampleOptions {
  readonly confidence?: number;
}

/** Bias-corrected and accelerated interval (Efron 1987) with the numbers that shaped it. */
export interface Bca {
  readonly z0: number;
  readonly acceleration: number;
  readonly alpha1: number;
  readonly alpha2: number;
  readonly interval: Interval;
}

/** Intervals for a mean of role means. With few roles trust `bootstrapT`; the others need 40 or more. */
export type MeanBootstrap =
  | {
      readonly status: "estimated";
      readonly estimate: number;
      readonly method: Resampled["method"];
      readonly resamples: number;
      readonly bootMean: number;
      /** SD of the resampled means: smaller than the SE by sqrt((G - 1)/G). */
      readonly bootSe: number;
      readonly percentile: Interval;
      /** Null when the roles do not vary. */
      readonly bca: Bca | null;
      /** Null when more than a tenth of the resamples repeat a single value. */
      readonly bootstrapT: Interval | null;
    }
  | NotEstimated;

/** More undefined resamples than this leave an interval that describes the defined ones only. */
const MOST_DEGENERATE = 0.1;

/** Bootstrap over role means: exhaustive up to six roles, seeded above. Undefined below two roles. Golden F1. */
export function bootstrapMean(
  roleMeans: readonly number[],
  { confidence = DEFAULT_CONFIDENCE, ...options }: BootstrapOptions = {},
): MeanBootstrap {
  if (roleMeans.length < 2)
    return roleMeans.length === 0
      ? notEstimated("no_data")
      : notEstimated("fewer_than_2_clusters", mean(roleMeans));
  const units = ascending(roleMeans);
  const estimate = mean(units);
  const { method, values } = resample(units, mean, options);
  return {
    status: "estimated",
    estimate,
    method,
    resamples: values.length,
    bootMean: mean(values),
    bootSe: Math.sqrt(sumOfSquares(deviations(values)) / values.length),
    percentile: central(values, confidence),
    bca: bcaInterval({ values, estimate, jackknife: leaveOneOutMeans(units) }, confidence),
    bootstrapT: studentized(units, confidence, options),
  };
}

/** Percentile interval of a statistic, in its own unit; `degenerate` counts resamples where it was undefined. */
export type StatisticBootstrap =
  | {
      readonly status: "estimated";
      readonly estimate: number;
      readonly method: Resampled["method"];
      readonly interval: Interval;
      readonly degenerate: number;
    }
  | NotEstimated;

/**
 * Percentile interval of any statistic over resampled clusters; null from `statistic` is a degenerate resample.
 * Percentiles commute with monotone maps, so a correlation needs no Fisher z here.
 */
export function bootstrapClusters<T>(
  clusters: ReadonlyMap<string, T>,
  statistic: (sample: readonly T[]) => number | null,
  { confidence = DEFAULT_CONFIDENCE, ...options }: BootstrapOptions = {},
): StatisticBootstrap {
  const units = sortedEntries(clusters).map(([, unit]) => unit);
  const estimate = units.length === 0 ? null : statistic(units);
  if (estimate === null) return notEstimated("no_data");
  if (units.length < 2) return notEstimated("fewer_than_2_clusters", estimate);
  const { method, values, degenerate } = resample(units, statistic, options);
  if (degenerate > MOST_DEGENERATE * (values.length + degenerate))
    return notEstimated("too_many_degenerate_draws", estimate);
  return { status: "estimated", estimate, method, interval: central(values, confidence), degenerate };
}

/** Central interval of ascending values by type 7 quantiles. */
export function central(sorted: readonly number[], confidence: number): Interval {
  return [sortedQuantile(sorted, (1 - confidence) / 2), sortedQuantile(sorted, (1 + confidence) / 2)];
}

/**
 * `values` are ascending resampled statistics, `jackknife` the statistics with one unit left out.
 * z0 counts ties with the estimate as half. Null when the jackknife values do not vary.
 */
export function bcaInterval(
  {
    values,
    estimate,
    jackknife,
  }: { values: readonly number[]; estimate: number; jackknife: readonly number[] },
  confidence: number,
): Bca | null {
  const influence = deviations(jackknife).map((value) => -value);
  const squares = sumOfSquares(influence);
  const below = shareBelow(values, estimate);
  if (squares === 0 || below === 0 || below === 1) return null;
  const z0 = normalQuantile(below);
  const acceleration = sum(influence.map((value) => value ** 3)) / (6 * squares ** 1.5);
  const adjusted = (p: number): number => {
    const shifted = z0 + normalQuantile(p);
    return normalCdf(z0 + shifted / (1 - acceleration * shifted));
  };
  const alpha1 = adjusted((1 - confidence) / 2);
  const alpha2 = adjusted((1 + confidence) / 2);
  return {
    z0,
    acceleration,
    alpha1,
    alpha2,
    interval: [sortedQuantile(values, alpha1), sortedQuantile(values, alpha2)],
  };
}

function studentized(
  units: readonly number[],
  confidence: number,
  options: ResampleOptions,
): Interval | null {
  const estimate = mean(units);
  const se = standardErrorOfMean(units);
  const { values, degenerate } = resample(
    units,
    (sample) => {
      const own = standardErrorOfMean(sample);
      return own === 0 ? null : (mean(sample) - estimate) / own;
    },
    options,
  );
  if (values.length === 0 || degenerate > MOST_DEGENERATE * (values.length + degenerate)) return null;
  const [lower, upper] = central(values, confidence);
  return [estimate - upper * se, estimate - lower * se];
}

/** Share of values below, those equal up to rounding counting half. */
function shareBelow(values: readonly number[], estimate: number): number {
  const rounding = 1e-12 * Math.max(...values.slice(0, 1).map(Math.abs), ...values.slice(-1).map(Math.abs));
  const equal = values.filter((value) => Math.abs(value - estimate) <= rounding).length;
  const below = values.filter((value) => value < estimate - rounding).length;
  return (below + equal / 2) / values.length;
}

const leaveOneOutMeans = (units: readonly number[]): readonly number[] =>
  units.map((_, index) => mean(units.toSpliced(index, 1)));
