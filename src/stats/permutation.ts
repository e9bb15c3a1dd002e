import { ascending } from "./quantile.ts";
import { seededRandom, type RandomSource } from "./random.ts";
import { sum } from "./sum.ts";

/** A randomisation test. `minimumP` is the smallest p that this design can reach. */
export interface PermutationTest {
  readonly method: "exact" | "sampled";
  readonly assignments: number;
  readonly asExtreme: number;
  readonly p: number;
  readonly minimumP: number;
}

/** Enumeration limit (20 units), draws (100,000) and seed (1) of a randomisation test. */
export interface PermutationOptions {
  /** Most units enumerated (sign flips); above it, or above `draws` label splits, assignments are sampled. */
  readonly exactUpTo?: number;
  readonly draws?: number;
  readonly seed?: number;
}

/** Sums that differ by less than this part of the total are ties: an exact 0 may arrive as -3e-17. */
const TIE = 1e-12;

/**
 * Two-sided sign-flip test of differences by cluster: all 2^G sign vectors up to G = 20, else seeded draws
 * with p = (1 + extreme)/(1 + draws). No cluster gives p = 1. Golden E2.
 */
export function signFlipTest(
  differences: readonly number[],
  { exactUpTo = 20, draws = 100_000, seed = 1 }: PermutationOptions = {},
): PermutationTest {
  const sorted = ascending(differences);
  const threshold = Math.abs(sum(sorted)) - TIE * sum(sorted.map(Math.abs));
  if (sorted.length > exactUpTo)
    return sampled(signedSums(sorted, draws, seed), threshold, 2 ** (1 - sorted.length));
  const asExtreme = countSigns(sorted, threshold);
  const assignments = 2 ** sorted.length;
  return {
    method: "exact",
    assignments,
    asExtreme,
    p: asExtreme / assignments,
    minimumP: Math.min(1, 2 / assignments),
  };
}

/**
 * Two-sided test of a difference between two group means by exchanging group labels: all splits when there are
 * at most `draws` of them, else seeded draws. RangeError for an empty group.
 */
export function labelExchangeTest(
  first: readonly number[],
  second: readonly number[],
  { draws = 100_000, seed = 1 }: PermutationOptions = {},
): PermutationTest {
  if (first.length === 0 || second.length === 0) throw new RangeError("Both groups need at least one value");
  const pooled = ascending([...first, ...second]);
  const size = first.length;
  const centre = sum(pooled) / pooled.length;
  // With the pooled mean removed, the group difference is proportional to the sum of one group.
  const centred = pooled.map((value) => value - centre);
  const threshold = Math.abs(sum(first) - size * centre) - TIE * sum(pooled.map(Math.abs));
  const splits = binomial(pooled.length, size);
  // Groups of one size mirror each split, so the most extreme value comes twice.
  const minimumP = (size * 2 === pooled.length ? 2 : 1) / splits;
  if (splits > draws) return sampled(splitSums(centred, size, { draws, seed }), threshold, minimumP);
  const asExtreme = countSplits(centred, size, threshold);
  return { method: "exact", assignments: splits, asExtreme, p: asExtreme / splits, minimumP };
}

function sampled(sums: Iterable<number>, threshold: number, minimum: number): PermutationTest {
  let asExtreme = 0;
  let assignments = 0;
  for (const value of sums) {
    assignments += 1;
    if (Math.abs(value) >= threshold) asExtreme += 1;
  }
  const minimumP = Math.max(minimum, 1 / (1 + assignments));
  return { method: "sampled", assignments, asExtreme, p: (1 + asExtreme) / (1 + assignments), minimumP };
}

function countSigns(values: readonly number[], threshold: number): number {
  const count = (index: number, total: number): number => {
    const value = values[index];
    if (value === undefined) return Math.abs(total) >= threshold ? 1 : 0;
    return count(index + 1, total + value) + count(index + 1, total - value);
  };
  return count(0, 0);
}

function countSplits(values: readonly number[], size: number, threshold: number): number {
  const count = (start: number, left: number, total: number): number => {
    if (left === 0) return Math.abs(total) >= threshold ? 1 : 0;
    let found = 0;
    for (let index = start; index <= values.length - left; index += 1)
      found += count(index + 1, left - 1, total + (values[index] ?? 0));
    return found;
  };
  return count(0, size, 0);
}

function* signedSums(values: readonly number[], draws: number, seed: number): Generator<number> {
  const random = seededRandom(seed);
  for (let draw = 0; draw < draws; draw += 1) {
    let total = 0;
    let bits = 0;
    for (const [index, value] of values.entries()) {
      bits = index % 32 === 0 ? random.uint32() : bits >>> 1;
      total += (bits & 1) === 1 ? value : -value;
    }
    yield total;
  }
}

function* splitSums(
  values: readonly number[],
  size: number,
  { draws, seed }: { draws: number; seed: number },
): Generator<number> {
  const random = seededRandom(seed);
  const deck = [...values];
  for (let draw = 0; draw < draws; draw += 1) yield dealt(deck, size, random);
}

/** Sum of `size` cards of the deck, dealt by the first steps of a Fisher-Yates shuffle. */
function dealt(deck: number[], size: number, random: RandomSource): number {
  let total = 0;
  for (let index = 0; index < size; index += 1) {
    const other = index + random.below(deck.length - index);
    const card = deck[other] ?? 0;
    deck[other] = deck[index] ?? 0;
    deck[index] = card;
    total += card;
  }
  return total;
}

function binomial(n: number, k: number): number {
  let result = 1;
  for (let step = 1; step <= Math.min(k, n - k); step += 1)
    result = Math.round((result * (n - Math.min(k, n - k) + step)) / step);
  return result;
}
