import erfc from "@stdlib/math-base-special-erfc";
import erfcinv from "@stdlib/math-base-special-erfcinv";
import studentCdf from "@stdlib/stats-base-dists-t-cdf";
import studentQuantile from "@stdlib/stats-base-dists-t-quantile";

/** Student t quantile. `p` strictly between 0 and 1, `df` > 0 and possibly fractional; RangeError otherwise. */
export function tQuantile(p: number, df: number): number {
  requireProbability(p);
  requireDf(df);
  return studentQuantile(p, df);
}

/** P(T <= t) for Student t with `df` > 0 degrees of freedom; RangeError for NaN or another `df`. */
export function tCdf(t: number, df: number): number {
  requireNumber(t);
  requireDf(df);
  return studentCdf(t, df);
}

/** Two-sided p value of a t statistic; accurate in the far tail. */
export function tTwoSidedP(t: number, df: number): number {
  return Math.min(1, 2 * tCdf(-Math.abs(t), df));
}

/**
 * Standard normal quantile. `p` strictly between 0 and 1, RangeError otherwise.
 * Through erfcinv: a quantile built on erfinv(2p - 1) loses digits for small p.
 */
export function normalQuantile(p: number): number {
  requireProbability(p);
  return p <= 0.5 ? -Math.SQRT2 * erfcinv(2 * p) : Math.SQRT2 * erfcinv(2 * (1 - p));
}

/** P(Z <= z) for a standard normal Z. RangeError for NaN. */
export function normalCdf(z: number): number {
  requireNumber(z);
  return erfc(-z / Math.SQRT2) / 2;
}

/** Standard normal density. */
export function normalDensity(z: number): number {
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
}

function requireProbability(p: number): void {
  if (!(p > 0 && p < 1)) throw new RangeError(`A probability strictly between 0 and 1 is needed, got ${p}`);
}

function requireDf(df: number): void {
  if (!(df > 0)) throw new RangeError(`Degrees of freedom must be positive, got ${df}`);
}

function requireNumber(value: number): void {
  if (Number.isNaN(value)) throw new RangeError("A distribution has no value at NaN");
}
