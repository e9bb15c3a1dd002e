import type { Cell } from "./cell.ts";
import { SAME_WEIGHTS } from "./estimates.ts";

/**
 * What a difference says. `constant`: every role shows the very same non-zero difference, so that the interval has no width
 * · `no_interval`: one role, or chosen on this very set.
 */
export type Finding =
  | "better"
  | "worse"
  | "inconclusive"
  | "same_weights"
  | "identical"
  | "constant"
  | "no_interval"
  | "no_data";

// Rounding can leave a width where every role shows one difference.
const NO_WIDTH = 1e-9;

/** Reads a difference; `better` is the direction that is good. An interval that includes 0 is inconclusive. */
export const findingOf = (cell: Cell | undefined, better: "lower" | "higher"): Finding => {
  if (cell === undefined || cell.estimate === null) return "no_data";
  const { estimate, lo, hi, reason } = cell;
  if (reason === SAME_WEIGHTS && estimate === 0) return "same_weights";
  if (lo === null || hi === null) return "no_interval";
  if (hi - lo <= NO_WIDTH * Math.abs(estimate)) return estimate === 0 ? "identical" : "constant";
  return lo <= 0 && hi >= 0 ? "inconclusive" : direction(estimate, better);
};

const direction = (estimate: number, better: "lower" | "higher"): Finding =>
  estimate > 0 === (better === "higher") ? "better" : "worse";
