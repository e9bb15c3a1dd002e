import { mean, sum } from "./sum.ts";

const ROUNDING = 1e-12;

/**
 * Value minus mean, for each value. All are exactly 0 when none exceeds rounding error
 * (1e-12 of the largest value), so that scores shifted by a constant have a spread of exactly 0.
 */
export function deviations(values: readonly number[]): readonly number[] {
  const centre = mean(values);
  const centred = values.map((value) => value - centre);
  const floor = ROUNDING * largest(values);
  return largest(centred) <= floor ? centred.map(() => 0) : centred;
}

/** Sample variance (divisor n - 1). RangeError below two values. */
export function variance(values: readonly number[]): number {
  if (values.length < 2) throw new RangeError("A variance needs at least 2 values");
  return sumOfSquares(deviations(values)) / (values.length - 1);
}

/** Standard error of the mean of independent values, SD/sqrt(n). RangeError below two values. */
export function standardErrorOfMean(values: readonly number[]): number {
  return Math.sqrt(variance(values) / values.length);
}

/** Pearson correlation of two equally long lists; null when either is constant or shorter than 2. */
export function pearson(x: readonly number[], y: readonly number[]): number | null {
  if (x.length !== y.length)
    throw new RangeError(`Lists of ${x.length} and ${y.length} values do not pair up`);
  if (x.length < 2) return null;
  const dx = deviations(x);
  const dy = deviations(y);
  const scale = Math.sqrt(sumOfSquares(dx) * sumOfSquares(dy));
  if (scale === 0) return null;
  const r = sum(dx.map((value, index) => value * (dy[index] ?? 0))) / scale;
  return Math.max(-1, Math.min(1, r));
}

/** Sum of squared values. */
export function sumOfSquares(values: readonly number[]): number {
  return sum(values.map((value) => value * value));
}

const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
