import { at } from "./at.ts";
import { requireFinite } from "./sum.ts";

/** Values that people and the judge gave to the systems of one item, in the same system order. */
export interface RatedItem {
  readonly human: readonly number[];
  readonly judge: readonly number[];
}

/** Agreement over all pairs of systems inside an item; pairs never cross items. */
export interface PairwiseAccuracy {
  readonly pairs: number;
  /** (concordant + tied for both)/pairs: acc_eq of Deutsch et al. 2023. Null without pairs. */
  readonly withTies: number | null;
  /** concordant/(pairs that people did not tie). Null without such pairs. */
  readonly withoutHumanTies: number | null;
}

/** Accuracy with a judge tie wherever its two values differ by at most `epsilon`. Golden I1. */
export function pairwiseAccuracy(items: readonly RatedItem[], epsilon = 0): PairwiseAccuracy {
  const pairs = items.flatMap(pairsOf);
  const agreed = pairs.filter((pair) => Math.sign(pair.human) === tied(pair.judge, epsilon));
  const untied = pairs.filter((pair) => pair.human !== 0).length;
  const untiedAgreed = agreed.filter((pair) => pair.human !== 0).length;
  return {
    pairs: pairs.length,
    withTies: pairs.length === 0 ? null : agreed.length / pairs.length,
    withoutHumanTies: untied === 0 ? null : untiedAgreed / untied,
  };
}

/**
 * The smallest judge tie width that gives the best `withTies` on these items; 0 without pairs.
 * Calibrate on one half of the items and report the accuracy of the other half.
 */
export function calibrateTieWidth(items: readonly RatedItem[]): number {
  const pairs = items.flatMap(pairsOf).toSorted((a, b) => Math.abs(a.judge) - Math.abs(b.judge));
  let agreed = pairs.filter(sameSign).length;
  let best = { agreed, width: 0 };
  for (const [index, pair] of pairs.entries()) {
    if (pair.judge === 0) continue;
    // Widening up to this pair turns it into a judge tie.
    agreed += (pair.human === 0 ? 1 : 0) - (sameSign(pair) ? 1 : 0);
    const width = Math.abs(pair.judge);
    const next = pairs[index + 1];
    const last = next === undefined || Math.abs(next.judge) > width;
    if (last && agreed > best.agreed) best = { agreed, width };
  }
  return best.width;
}

interface Difference {
  readonly human: number;
  readonly judge: number;
}

function pairsOf({ human, judge }: RatedItem): readonly Difference[] {
  if (human.length !== judge.length)
    throw new RangeError(`An item has ${human.length} human and ${judge.length} judge values`);
  requireFinite([...human, ...judge]);
  return human.flatMap((value, i) =>
    human.slice(i + 1).map((other, offset) => ({
      human: value - other,
      judge: at(judge, i) - at(judge, i + 1 + offset),
    })),
  );
}

const tied = (difference: number, epsilon: number): number =>
  Math.abs(difference) <= epsilon ? 0 : Math.sign(difference);

const sameSign = ({ human, judge }: Difference): boolean => Math.sign(human) === Math.sign(judge);
