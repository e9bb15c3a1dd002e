import { welchDf, type RoleGain, type RoleGains } from "./did.ts";
import { DEFAULT_CONFIDENCE, estimated, notEstimated, type Estimate } from "./estimate.ts";
import { compareText } from "./observations.ts";
import { standardErrorOfMean } from "./spread.ts";
import { mean, sum } from "./sum.ts";

/**
 * Difference in differences within strata (languages), weighted by each stratum's share of the unseen roles, so that
 * a different language mix cannot pass for a generalisation gap. Welch df over all cells.
 * Undefined when a stratum of the unseen roles has no seen role, or a cell holds fewer than two roles.
 */
export function stratifiedDifference(
  gains: RoleGains,
  stratumOf: (cluster: string) => string,
  confidence: number = DEFAULT_CONFIDENCE,
): Estimate {
  if (gains.unseen.length === 0) return notEstimated("no_unseen_roles");
  const seen = byStratum(gains.seen, stratumOf);
  const cells = [...byStratum(gains.unseen, stratumOf)].map(([stratum, unseen]) => ({
    unseen,
    seen: seen.get(stratum) ?? [],
    weight: unseen.length / gains.unseen.length,
  }));
  if (cells.some((cell) => cell.seen.length === 0)) return notEstimated("stratum_without_seen_roles");
  const estimate = sum(cells.map((cell) => cell.weight * (mean(cell.unseen) - mean(cell.seen))));
  if (cells.some((cell) => Math.min(cell.seen.length, cell.unseen.length) < 2))
    return notEstimated("fewer_than_2_per_side", estimate);
  const sides = cells.flatMap(({ weight, ...cell }) => [
    component(cell.seen, weight),
    component(cell.unseen, weight),
  ]);
  const se = Math.sqrt(sum(sides.map((side) => side.se ** 2)));
  const clusters = sum(cells.map((cell) => cell.seen.length + cell.unseen.length));
  return estimated({ estimate, se, df: welchDf(sides), clusters }, confidence);
}

const component = (values: readonly number[], weight: number): { se: number; df: number } => ({
  se: weight * standardErrorOfMean(values),
  df: values.length - 1,
});

function byStratum(
  gains: readonly RoleGain[],
  stratumOf: (cluster: string) => string,
): Map<string, number[]> {
  const strata = new Map<string, number[]>();
  for (const { cluster, difference } of gains.toSorted((a, b) => compareText(a.cluster, b.cluster))) {
    const stratum = stratumOf(cluster);
    strata.set(stratum, [...(strata.get(stratum) ?? []), difference]);
  }
  return strata;
}
