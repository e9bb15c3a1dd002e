import type { PermutationOptions, PermutationTest } from "./permutation.ts";
import { seededRandom } from "./random.ts";
import { averageRanks } from "./rank.ts";

/**
 * Two-sided permutation test of Spearman's rho: all n! orders up to n = 8, else seeded draws.
 * Null when a list is constant or shorter than two. RangeError for unequal lengths.
 */
export function spearmanTest(
  x: readonly number[],
  y: readonly number[],
  { exactUpTo = 8, draws = 100_000, seed = 1 }: PermutationOptions = {},
): PermutationTest | null {
  if (x.length !== y.length)
    throw new RangeError(`Lists of ${x.length} and ${y.length} values do not pair up`);
  const left = centredRanks(x);
  const right = centredRanks(y);
  if (left.every((rank) => rank === 0) || right.every((rank) => rank === 0)) return null;
  // Ranks are multiples of 1/2, so products are exact and equal values compare equal.
  const observed = Math.abs(product(left, right));
  const orders = x.length <= exactUpTo ? allOrders(right) : shuffles(right, draws, seed);
  let asExtreme = 0;
  let assignments = 0;
  for (const candidate of orders) {
    assignments += 1;
    if (Math.abs(product(left, candidate)) >= observed - 1e-9) asExtreme += 1;
  }
  if (x.length <= exactUpTo)
    return { method: "exact", assignments, asExtreme, p: asExtreme / assignments, minimumP: 1 / assignments };
  const p = (1 + asExtreme) / (1 + assignments);
  return { method: "sampled", assignments, asExtreme, p, minimumP: 1 / (1 + assignments) };
}

function centredRanks(values: readonly number[]): readonly number[] {
  return averageRanks(values).map((rank) => rank - (values.length + 1) / 2);
}

function product(left: readonly number[], right: readonly number[]): number {
  let total = 0;
  for (const [index, value] of left.entries()) total += value * (right[index] ?? 0);
  return total;
}

function* allOrders(values: readonly number[]): Generator<readonly number[]> {
  if (values.length < 2) yield values;
  else
    for (const [index, first] of values.entries())
      for (const rest of allOrders(values.toSpliced(index, 1))) yield [first, ...rest];
}

function* shuffles(values: readonly number[], draws: number, seed: number): Generator<readonly number[]> {
  const random = seededRandom(seed);
  const deck = [...values];
  for (let draw = 0; draw < draws; draw += 1) {
    for (let last = deck.length - 1; last > 0; last -= 1) {
      const other = random.below(last + 1);
      [deck[last], deck[other]] = [deck[other] ?? 0, deck[last] ?? 0];
    }
    yield deck;
  }
}
