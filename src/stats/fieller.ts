import { tQuantile } from "./distributions.ts";
import type { Estimated, Interval, Reason } from "./estimate.ts";

/** Ratio of two independent estimates. `g` is t^2 SE^2/x^2 of the denominator: at 1 or above nothing bounds the ratio. */
export type FiellerRatio =
  | {
      readonly status: "estimated";
      readonly estimate: number;
      readonly interval: Interval;
      readonly g: number;
    }
  | { readonly status: "unbounded"; readonly estimate: number; readonly g: number }
  | { readonly status: "undefined"; readonly reason: Reason; readonly estimate: null };

type Moments = Pick<Estimated, "estimate" | "se">;

/**
 * numerator/denominator with the Fieller (1954) interval for independent estimates:
 * [r +- (t/x) sqrt(SE_y^2 (1 - g) + r^2 SE_x^2)]/(1 - g). Undefined when the denominator is not above 0.
 */
export function fiellerRatio(
  numerator: Moments,
  denominator: Moments,
  { df, confidence }: { readonly df: number; readonly confidence: number },
): FiellerRatio {
  const x = denominator.estimate;
  if (!(x > 0)) return { status: "undefined", reason: "denominator_not_positive", estimate: null };
  const t = tQuantile((1 + confidence) / 2, df);
  const g = ((t * denominator.se) / x) ** 2;
  const estimate = numerator.estimate / x;
  if (g >= 1) return { status: "unbounded", estimate, g };
  const half = (t / x) * Math.sqrt(numerator.se ** 2 * (1 - g) + (estimate * denominator.se) ** 2);
  return {
    status: "estimated",
    estimate,
    interval: [(estimate - half) / (1 - g), (estimate + half) / (1 - g)],
    g,
  };
}
