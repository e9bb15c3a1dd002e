import { at } from "./at.ts";
import { deviations, sumOfSquares } from "./spread.ts";
import { mean, sum } from "./sum.ts";

/** Reliability of one rating and of the mean of all k raters. */
export interface IntraclassPair {
  readonly single: number | null;
  readonly average: number | null;
}

/** Shrout and Fleiss 1979: ICC(1,.), ICC(2,.) and ICC(3,.). Null where the denominator is 0. */
export interface IntraclassCorrelations {
  readonly oneWay: IntraclassPair;
  readonly twoWayRandom: IntraclassPair;
  readonly twoWayMixed: IntraclassPair;
}

/**
 * From targets x judges without gaps; RangeError for fewer than two of either or ragged rows. Golden J4.
 * `twoWayRandom.average` is the reliability of a mean human rating.
 */
export function intraclassCorrelations(
  targetsByJudges: readonly (readonly number[])[],
): IntraclassCorrelations {
  const n = targetsByJudges.length;
  const k = targetsByJudges[0]?.length ?? 0;
  if (n < 2 || k < 2 || targetsByJudges.some((row) => row.length !== k))
    throw new RangeError("At least 2 targets and 2 judges with a rating in every cell are needed");
  const { rows, columns, error, within } = meanSquares(targetsByJudges, k);
  const judges = (columns - error) / n;
  return {
    oneWay: pair(rows - within, rows + (k - 1) * within, rows),
    twoWayRandom: pair(rows - error, rows + (k - 1) * error + k * judges, rows + judges),
    twoWayMixed: pair(rows - error, rows + (k - 1) * error, rows),
  };
}

/** Highest correlation that two measures of these reliabilities can show; null when one is negative. */
export function attenuationBound(reliabilityHuman: number, reliabilityJudge: number): number | null {
  if (reliabilityHuman < 0 || reliabilityJudge < 0) return null;
  return Math.sqrt(reliabilityHuman * reliabilityJudge);
}

function meanSquares(
  table: readonly (readonly number[])[],
  k: number,
): { rows: number; columns: number; error: number; within: number } {
  const n = table.length;
  const columnMeans = Array.from({ length: k }, (_, judge) => mean(table.map((row) => at(row, judge))));
  const rowSquares = k * sumOfSquares(deviations(table.map(mean)));
  const columnSquares = n * sumOfSquares(deviations(columnMeans));
  const withinSquares = sum(table.map((row) => sumOfSquares(deviations(row))));
  return {
    rows: rowSquares / (n - 1),
    columns: columnSquares / (k - 1),
    error: Math.max(0, withinSquares - columnSquares) / ((n - 1) * (k - 1)),
    within: withinSquares / (n * (k - 1)),
  };
}

const pair = (numerator: number, forSingle: number, forAverage: number): IntraclassPair => ({
  single: forSingle === 0 ? null : numerator / forSingle,
  average: forAverage === 0 ? null : numerator / forAverage,
});
