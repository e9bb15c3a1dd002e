import type { Interval } from "./estimate.ts";
import { compareText, type Observation } from "./observations.ts";
import { mean, sum } from "./sum.ts";

/** Mean over what was scored, and where it could lie had the rest been scored too. */
export interface Coverage {
  readonly mean: number | null;
  readonly scored: number;
  readonly expected: number;
  /** scored/expected; null when nothing was expected. */
  readonly coverage: number | null;
  /** Means with every missing value at `worst` and at `best`. */
  readonly bounds: Interval | null;
}

/** Values to assume for what is missing, in score units; ratios of scores in 1..10 lie in [0.1, 10]. */
export interface ValueRange {
  readonly worst: number;
  readonly best: number;
}

/** Null is an expected but unscored value; it never enters the mean as 0. Golden B2. */
export function coverageOf(values: readonly (number | null)[], { worst, best }: ValueRange): Coverage {
  const present = values.filter((value) => value !== null);
  const missing = values.length - present.length;
  const filled = (value: number): number => (sum(present) + missing * value) / values.length;
  return {
    mean: present.length === 0 ? null : mean(present),
    scored: present.length,
    expected: values.length,
    coverage: values.length === 0 ? null : present.length / values.length,
    bounds: values.length === 0 ? null : [filled(worst), filled(best)],
  };
}

/** Coverage by cluster, sorted: refusals gather in some roles, which an overall figure hides. */
export function coverageByCluster(
  observations: readonly Observation[],
  range: ValueRange,
): readonly (Coverage & { readonly cluster: string })[] {
  const groups = new Map<string, (number | null)[]>();
  for (const { cluster, value } of observations) groups.set(cluster, [...(groups.get(cluster) ?? []), value]);
  return [...groups]
    .map(([cluster, values]) => ({ cluster, ...coverageOf(values, range) }))
    .toSorted((a, b) => compareText(a.cluster, b.cluster));
}

/** Mean over metrics in score units, or the names of those that are missing. */
export type OverallMean =
  | { readonly status: "estimated"; readonly estimate: number }
  | {
      readonly status: "undefined";
      readonly reason: "incomplete" | "no_data";
      readonly missing: readonly string[];
    };

/** Mean over metrics that refuses to shrink: one missing metric makes it undefined and is named. */
export function overallMean(
  metrics: readonly { readonly name: string; readonly value: number | null }[],
): OverallMean {
  const missing = metrics.flatMap(({ name, value }) => (value === null ? [name] : []));
  const present = metrics.flatMap(({ value }) => (value === null ? [] : [value]));
  if (present.length === 0) return { status: "undefined", reason: "no_data", missing };
  if (missing.length > 0) return { status: "undefined", reason: "incomplete", missing };
  return { status: "estimated", estimate: mean(present) };
}
