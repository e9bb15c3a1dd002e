import { median } from "./quantile.ts";
import { mean, sum } from "./sum.ts";

/** Scores of one judge call after un-swapping: the tested system first, the reference second. */
export type Pair = readonly [test: number, reference: number];

/** Lowest and highest score that a judge may give. */
export type Scale = readonly [lowest: number, highest: number];

/** The scale of the judge prompts. Its lower end keeps every ratio finite. */
export const JUDGE_SCALE: Scale = [1, 10];

/** What a missing ratio could have been, for coverage bounds. */
export const ratioRange = ([lowest, highest]: Scale = JUDGE_SCALE): { worst: number; best: number } => ({
  worst: lowest / highest,
  best: highest / lowest,
});

/** test/reference of one call, or which score lay outside the scale. */
export type PairRatio =
  | { readonly status: "scored"; readonly ratio: number }
  | { readonly status: "unscored"; readonly reason: "test_out_of_range" | "ref_out_of_range" };

/** test/reference of one call. A score outside the scale (a 0, say) is unscored, never clipped. Golden A6. */
export function pairRatio([test, reference]: Pair, scale: Scale = JUDGE_SCALE): PairRatio {
  if (!within(test, scale)) return { status: "unscored", reason: "test_out_of_range" };
  if (!within(reference, scale)) return { status: "unscored", reason: "ref_out_of_range" };
  return { status: "scored", ratio: test / reference };
}

/** `available` averages the references there are, `complete` scores only instances that have them all. */
export type MissingPolicy = "available" | "complete";

/** Mean ratio of one instance over the `references` that were scored. */
export interface InstanceRatio {
  readonly ratio: number | null;
  readonly references: number;
  readonly flag: "complete" | "partial" | "excluded";
}

/**
 * Mean over references of test/reference for one instance; null stands for a missing call and counts as expected.
 * Test scores are never averaged first: each belongs to one call. Golden A1, A5.
 */
export function instanceRatio(
  pairs: readonly (Pair | null)[],
  policy: MissingPolicy,
  scale: Scale = JUDGE_SCALE,
): InstanceRatio {
  const ratios = scoredPairs(pairs, scale).map(([test, reference]) => test / reference);
  const references = ratios.length;
  if (references === pairs.length && references > 0)
    return { ratio: mean(ratios), references, flag: "complete" };
  if (references === 0 || policy === "complete") return { ratio: null, references, flag: "excluded" };
  return { ratio: mean(ratios), references, flag: "partial" };
}

/** The three scales over calls pooled without clusters, all test/reference; null when nothing is scored. */
export interface RatioScales {
  readonly pairs: number;
  readonly meanOfRatios: number;
  readonly ratioOfMeans: number;
  readonly geometricMean: number;
  readonly meanLogRatio: number;
  readonly medianRatio: number;
  /** Part of the sum of ratios that the two largest supply: near 1, two calls carry the score. */
  readonly shareOfTopTwo: number;
}

/** Mean of ratios, ratio of means and geometric mean side by side: only the last two are symmetric. Golden A3, A4. */
export function ratioScales(pairs: readonly (Pair | null)[], scale: Scale = JUDGE_SCALE): RatioScales | null {
  const scored = scoredPairs(pairs, scale);
  if (scored.length === 0) return null;
  const ratios = scored.map(([test, reference]) => test / reference);
  const meanLogRatio = mean(ratios.map(Math.log));
  const topTwo = ratios.toSorted((a, b) => b - a).slice(0, 2);
  return {
    pairs: scored.length,
    meanOfRatios: mean(ratios),
    ratioOfMeans: sum(scored.map((pair) => pair[0])) / sum(scored.map((pair) => pair[1])),
    geometricMean: Math.exp(meanLogRatio),
    meanLogRatio,
    medianRatio: median(ratios),
    shareOfTopTwo: sum(topTwo) / sum(ratios),
  };
}

/** Calls whose two scores lie on the scale. */
export function scoredPairs(pairs: readonly (Pair | null)[], scale: Scale = JUDGE_SCALE): readonly Pair[] {
  return pairs.filter((pair) => pair !== null).filter((pair) => pairRatio(pair, scale).status === "scored");
}

const within = (score: number, [lowest, highest]: Scale): boolean => score >= lowest && score <= highest;
