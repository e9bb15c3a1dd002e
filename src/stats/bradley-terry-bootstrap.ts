import { at } from "./at.ts";
import { central, type BootstrapOptions } from "./bootstrap.ts";
import { bradleyTerry } from "./bradley-terry.ts";
import { DEFAULT_CONFIDENCE, notEstimated, type Interval, type NotEstimated } from "./estimate.ts";
import { sortedEntries } from "./observations.ts";
import { ascending } from "./quantile.ts";
import { drawnSamples } from "./resample.ts";
import { sum } from "./sum.ts";
import type { WinMatrix } from "./win-graph.ts";

/** Elo intervals by system; `degenerate` counts resamples without a maximum-likelihood fit, which are left out. */
export type EloIntervals =
  | { readonly status: "estimated"; readonly intervals: readonly Interval[]; readonly degenerate: number }
  | NotEstimated;

/**
 * Percentile intervals over resampled roles, one win matrix a role. Connectivity is checked in every resample:
 * a fit without it drifts to any value. Undefined when over a tenth of the resamples lack it.
 */
export function bootstrapElo(
  winsByRole: ReadonlyMap<string, WinMatrix>,
  { confidence = DEFAULT_CONFIDENCE, draws = 1000, seed = 1 }: BootstrapOptions = {},
): EloIntervals {
  const units = sortedEntries(winsByRole).map(([, wins]) => wins);
  if (units.length < 2) return notEstimated(units.length === 0 ? "no_data" : "fewer_than_2_clusters");
  const fits: (readonly number[])[] = [];
  for (const sample of drawnSamples(units, draws, seed)) {
    const fit = bradleyTerry(addWins(sample));
    if (fit.status === "estimated") fits.push(fit.elo);
  }
  const degenerate = draws - fits.length;
  if (fits.length === 0 || degenerate > draws / 10) return notEstimated("too_many_degenerate_draws");
  const systems = [...at(units, 0).keys()];
  const intervals = systems.map((i) => central(ascending(fits.map((elo) => at(elo, i))), confidence));
  return { status: "estimated", intervals, degenerate };
}

/** Cell-wise sum of win matrices over the same systems; RangeError when their sizes differ. */
export function addWins(matrices: readonly WinMatrix[]): WinMatrix {
  const first = matrices[0] ?? [];
  return first.map((row, i) => row.map((_, j) => sum(matrices.map((wins) => at(at(wins, i), j)))));
}
