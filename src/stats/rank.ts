import { normalQuantile } from "./distributions.ts";
import { DEFAULT_CONFIDENCE, notEstimated, type Interval, type NotEstimated } from "./estimate.ts";
import { pearson } from "./spread.ts";
import { requireFinite } from "./sum.ts";

/** A correlation in [-1, 1] over `n` pairs, or why there is none. */
export type Correlation =
  | { readonly status: "estimated"; readonly estimate: number; readonly n: number }
  | NotEstimated;

/** Ranks from 1, ties sharing their average rank. RangeError for NaN or Infinity. */
export function averageRanks(values: readonly number[]): readonly number[] {
  const order = requireFinite(values)
    .map((value, index) => ({ value, index }))
    .toSorted((a, b) => a.value - b.value);
  const ranks = values.map(() => 0);
  let start = 0;
  while (start < order.length) {
    let end = start;
    while (order[end + 1]?.value === order[start]?.value && end + 1 < order.length) end += 1;
    for (const { index } of order.slice(start, end + 1)) ranks[index] = (start + end) / 2 + 1;
    start = end + 1;
  }
  return ranks;
}

/**
 * Spearman rho as Pearson on average ranks; the 1 - 6 sum(d^2) shortcut is wrong with ties.
 * A constant list gives zero_variance, never NaN. RangeError for unequal lengths. Golden I1, I2.
 */
export function spearman(x: readonly number[], y: readonly number[]): Correlation {
  const estimate = pearson(averageRanks(x), averageRanks(y));
  if (x.length < 2) return notEstimated("no_data");
  return estimate === null ? notEstimated("zero_variance") : { status: "estimated", estimate, n: x.length };
}

/** How the n(n - 1)/2 pairs of positions are ordered by the two lists; each pair is in one count. */
export interface PairCounts {
  readonly concordant: number;
  readonly discordant: number;
  readonly tiesXOnly: number;
  readonly tiesYOnly: number;
  readonly tiesBoth: number;
  readonly pairs: number;
}

/** Counts over all pairs of positions. RangeError for unequal lengths or values that are not finite. */
export function pairCounts(x: readonly number[], y: readonly number[]): PairCounts {
  if (x.length !== y.length)
    throw new RangeError(`Lists of ${x.length} and ${y.length} values do not pair up`);
  requireFinite([...x, ...y]);
  const counts = { concordant: 0, discordant: 0, tiesXOnly: 0, tiesYOnly: 0, tiesBoth: 0, pairs: 0 };
  for (let i = 0; i < x.length; i += 1) {
    for (let j = i + 1; j < x.length; j += 1) {
      counts.pairs += 1;
      counts[kindOfPair(order(x, i, j), order(y, i, j))] += 1;
    }
  }
  return counts;
}

/** Kendall tau-b, corrected for ties; zero_variance when a list is constant. Golden I1, I2. */
export function kendallTauB(x: readonly number[], y: readonly number[]): Correlation {
  const { concordant, discordant, tiesXOnly, tiesYOnly } = pairCounts(x, y);
  if (x.length < 2) return notEstimated("no_data");
  const untied = concordant + discordant;
  const scale = Math.sqrt((untied + tiesYOnly) * (untied + tiesXOnly));
  if (scale === 0) return notEstimated("zero_variance");
  return { status: "estimated", estimate: (concordant - discordant) / scale, n: x.length };
}

/** A correlation with its interval; `seZ` is on the Fisher z scale. */
export type CorrelationInterval =
  | {
      readonly status: "estimated";
      readonly estimate: number;
      readonly seZ: number;
      readonly interval: Interval;
    }
  | NotEstimated;

/**
 * Interval for a Spearman rho on the Fisher z scale, SE_z = sqrt((1 + rho^2/2)/(n - 3)): Bonett and Wright 2000.
 * Undefined for fewer than four pairs or |rho| = 1. Golden I4.
 */
export function bonettWright(rho: Correlation, confidence: number = DEFAULT_CONFIDENCE): CorrelationInterval {
  if (rho.status === "undefined") return rho;
  const { estimate, n } = rho;
  if (n < 4) return notEstimated("fewer_than_4_pairs", estimate);
  // Pearson on ranks may land one unit of rounding below 1.
  if (Math.abs(estimate) > 1 - 1e-12) return notEstimated("perfect_correlation", estimate);
  const seZ = Math.sqrt((1 + estimate ** 2 / 2) / (n - 3));
  const half = normalQuantile((1 + confidence) / 2) * seZ;
  const z = Math.atanh(estimate);
  return { status: "estimated", estimate, seZ, interval: [Math.tanh(z - half), Math.tanh(z + half)] };
}

const order = (values: readonly number[], i: number, j: number): number =>
  Math.sign((values[i] ?? 0) - (values[j] ?? 0));

function kindOfPair(x: number, y: number): Exclude<keyof PairCounts, "pairs"> {
  if (x === 0 && y === 0) return "tiesBoth";
  if (x === 0) return "tiesXOnly";
  if (y === 0) return "tiesYOnly";
  return x === y ? "concordant" : "discordant";
}
