import { tQuantile } from "./distributions.ts";
import type { Estimate, Estimated, Interval } from "./estimate.ts";

import { requireFinite } from "./sum.ts";

/** What a difference allows to be said; budget and internal errors are the caller's. */
export type Verdict = "improved" | "non_inferior" | "regression" | "inconclusive" | "no_data";

/** A verdict, its process exit code and the interval behind it. */
export interface GateResult {
  readonly verdict: Verdict;
  /** 0 passed, 6 inconclusive or no data, 7 regression. */
  readonly exitCode: 0 | 6 | 7;
  /** Limits of the two one-sided intervals; null without data. */
  readonly interval: Interval | null;
}

/** The declared margin, and the one-sided level: 0.025 for a gate, 0.05 for equivalence. */
export interface GateOptions {
  /** Largest loss that still counts as no loss, in score units, not negative. */
  readonly margin: number;
  readonly oneSidedAlpha?: number;
}

type Moments = Pick<Estimated, "estimate" | "se" | "df">;

const EXIT_CODES = { improved: 0, non_inferior: 0, regression: 7, inconclusive: 6, no_data: 6 } as const;

/**
 * Non-inferiority verdict on candidate minus baseline: improved above 0, non-inferior above -margin, regression when
 * the whole interval lies below -margin. Null is no data; an estimate without SE is inconclusive. Golden L3.
 */
export function gate(difference: Estimate | Moments | null, options: GateOptions): GateResult {
  if (!(options.margin >= 0)) throw new RangeError(`A margin cannot be negative, got ${options.margin}`);
  if (difference === null || difference.estimate === null) return result("no_data", null);
  if (!("se" in difference)) return result("inconclusive", null);
  const interval = oneSided(difference, options.oneSidedAlpha ?? 0.025);
  return result(verdictOf(interval, options.margin), interval);
}

/**
 * Two one-sided tests: is the difference inside +-margin? `equivalent` false is not evidence of a difference.
 * Null when no interval can be had. The interval has confidence 1 - 2 alpha.
 */
export function equivalence(
  difference: Estimate,
  { margin, oneSidedAlpha = 0.05 }: GateOptions,
): { readonly equivalent: boolean; readonly interval: Interval } | null {
  if (difference.status === "undefined") return null;
  const interval = oneSided(difference, oneSidedAlpha);
  return { equivalent: interval[0] > -margin && interval[1] < margin, interval };
}

function verdictOf([lower, upper]: Interval, margin: number): Verdict {
  if (lower > 0) return "improved";
  if (lower > -margin) return "non_inferior";
  return upper < -margin ? "regression" : "inconclusive";
}

function oneSided({ estimate, se, df }: Moments, alpha: number): Interval {
  requireFinite([estimate, se]);
  const half = tQuantile(1 - alpha, df) * se;
  return [estimate - half, estimate + half];
}

const result = (verdict: Verdict, interval: Interval | null): GateResult => ({
  verdict,
  exitCode: EXIT_CODES[verdict],
  interval,
});
