/** Holm bounds the family-wise error; BH the false discovery rate; BY the same under any dependence. */
export type Correction = "holm" | "bh" | "by";

/** A null p is a test that could not be made: it stays null and does not count in the family. */
export interface PValue {
  readonly name: string;
  readonly p: number | null;
}

/** A p value with its adjusted value, null where p is null. */
export interface AdjustedPValue extends PValue {
  readonly adjusted: number | null;
}

/** Adjusted p values, monotone in p and at most 1, in the order given. RangeError for p outside [0, 1]. Golden H1. */
export function adjustPValues(tests: readonly PValue[], correction: Correction): readonly AdjustedPValue[] {
  const family = tests.flatMap(({ p }, index) => (p === null ? [] : [{ index, p: checked(p) }]));
  family.sort((a, b) => a.p - b.p);
  const adjust = correction === "holm" ? holm : stepUp(correction === "by" ? harmonic(family.length) : 1);
  const adjusted = adjust(family.map((test) => test.p));
  const byIndex = new Map(family.map(({ index }, rank) => [index, adjusted[rank] ?? null]));
  return tests.map((test, index) => ({ ...test, adjusted: byIndex.get(index) ?? null }));
}

/**
 * The declared primary is tested first at `alpha`; only when it passes does the Holm family open.
 * A closed family keeps its adjusted values but none of them may be called significant.
 */
export function gatekeep(
  primary: number | null,
  tests: readonly PValue[],
  alpha: number,
): {
  readonly opened: boolean;
  readonly tests: readonly (AdjustedPValue & { readonly significant: boolean })[];
} {
  const opened = primary !== null && checked(primary) <= alpha;
  const adjusted = adjustPValues(tests, "holm");
  const significant = (value: number | null): boolean => opened && value !== null && value <= alpha;
  return { opened, tests: adjusted.map((test) => ({ ...test, significant: significant(test.adjusted) })) };
}

function holm(sorted: readonly number[]): readonly number[] {
  let highest = 0;
  return sorted.map((p, rank) => {
    highest = Math.max(highest, Math.min(1, (sorted.length - rank) * p));
    return highest;
  });
}

const stepUp =
  (factor: number) =>
  (sorted: readonly number[]): readonly number[] => {
    let lowest = 1;
    const fromLargest = sorted.toReversed().map((p, back) => {
      lowest = Math.min(lowest, (factor * sorted.length * p) / (sorted.length - back));
      return lowest;
    });
    return fromLargest.toReversed();
  };

const harmonic = (count: number): number =>
  Array.from({ length: count }, (_, index) => 1 / (index + 1)).reduce((a, b) => a + b, 0);

function checked(p: number): number {
  if (!(p >= 0 && p <= 1)) throw new RangeError(`A p value lies in [0, 1], got ${p}`);
  return p;
}
