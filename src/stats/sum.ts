/**
 * Correctly rounded sum, so it does not depend on the order of the values; 0 for none.
 * RangeError for NaN or Infinity. Shewchuk 1997, as in Python's math.fsum.
 */
export function sum(values: Iterable<number>): number {
  const partials: number[] = [];
  for (const value of values) {
    if (!Number.isFinite(value))
      throw new RangeError(`Cannot aggregate ${value}: every value must be finite`);
    absorb(partials, value);
  }
  return roundHalfEven(partials);
}

/** Arithmetic mean, independent of order. RangeError for an empty list. */
export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("The mean of no values is undefined");
  return sum(values) / values.length;
}

/** The same list; RangeError when it holds NaN or Infinity, which sorting and comparing would pass over silently. */
export function requireFinite(values: readonly number[]): readonly number[] {
  for (const value of values)
    if (!Number.isFinite(value))
      throw new RangeError(`Cannot aggregate ${value}: every value must be finite`);
  return values;
}

/** Keeps `partials` an exact, non-overlapping expansion of the running sum, smallest first. */
function absorb(partials: number[], value: number): void {
  let carried = value;
  let kept = 0;
  for (const partial of partials) {
    const [large, small] = Math.abs(carried) >= Math.abs(partial) ? [carried, partial] : [partial, carried];
    const high = large + small;
    const low = small - (high - large);
    if (low !== 0) partials[kept++] = low;
    carried = high;
  }
  partials.length = kept;
  partials.push(carried);
}

function roundHalfEven(partials: number[]): number {
  let total = partials.pop() ?? 0;
  let rest = 0;
  while (partials.length > 0) {
    const before = total;
    const next = partials.pop() ?? 0;
    total = before + next;
    rest = next - (total - before);
    if (rest !== 0) break;
  }
  const below = partials.at(-1) ?? 0;
  // A remainder of exactly half a unit is decided by the sign of what lies below it.
  if (Math.sign(rest) !== Math.sign(below)) return total;
  const doubled = rest * 2;
  const corrected = total + doubled;
  return doubled === corrected - total ? corrected : total;
}
