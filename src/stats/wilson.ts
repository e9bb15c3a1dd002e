import { normalQuantile } from "./distributions.ts";
import { DEFAULT_CONFIDENCE, type Interval } from "./estimate.ts";

/** Comparisons won, tied and made. */
export interface WinCounts {
  readonly wins: number;
  readonly ties: number;
  readonly n: number;
}

/** Win rate in [0, 1] with its interval, or no comparisons. */
export type WinRate =
  | {
      readonly status: "estimated";
      readonly estimate: number;
      readonly interval: Interval;
      readonly n: number;
    }
  | { readonly status: "undefined"; readonly reason: "no_data"; readonly estimate: null };

/** Win rate, a tie counting half, with the Wilson (1927) score interval, which stays inside [0, 1]. Golden L4. */
export function wilsonWinRate(
  { wins, ties, n }: WinCounts,
  confidence: number = DEFAULT_CONFIDENCE,
): WinRate {
  if (n === 0) return { status: "undefined", reason: "no_data", estimate: null };
  if (wins < 0 || ties < 0 || !(wins + ties <= n))
    throw new RangeError(`${wins} wins and ${ties} ties do not fit in ${n} comparisons`);
  const rate = (wins + ties / 2) / n;
  const z2 = normalQuantile((1 + confidence) / 2) ** 2;
  const centre = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = Math.sqrt(z2 * ((rate * (1 - rate)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
  const interval: Interval = [Math.max(0, centre - half), Math.min(1, centre + half)];
  return { status: "estimated", estimate: rate, interval, n };
}
