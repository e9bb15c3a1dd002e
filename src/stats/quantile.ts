import { at } from "./at.ts";
import { requireFinite } from "./sum.ts";

/**
 * Quantile of a sample by linear interpolation, type 7 of Hyndman and Fan 1996 (numpy's and R's default).
 * `p` in [0, 1]; RangeError for no values or another `p`.
 */
export function quantile(values: readonly number[], p: number): number {
  return sortedQuantile(ascending(values), p);
}

/** As `quantile`, for values already in ascending order. */
export function sortedQuantile(sorted: readonly number[], p: number): number {
  if (!(p >= 0 && p <= 1)) throw new RangeError(`A quantile needs p in [0, 1], got ${p}`);
  const position = (sorted.length - 1) * p;
  const below = Math.floor(position);
  const lower = at(sorted, below);
  const upper = at(sorted, Math.ceil(position));
  return lower + (position - below) * (upper - lower);
}

/** Middle value (mean of the middle two for an even count). RangeError for no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** A sorted copy. RangeError for NaN or Infinity. */
export function ascending(values: readonly number[]): readonly number[] {
  return requireFinite(values).toSorted((a, b) => a - b);
}
