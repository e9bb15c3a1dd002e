import { notEstimated, type NotEstimated } from "./estimate.ts";
import { ascending } from "./quantile.ts";
import { sum } from "./sum.ts";

/** What a difference between two ratings means: unequal, ranks apart, distance, or distance over sum. */
export type MeasurementLevel = "nominal" | "ordinal" | "interval" | "ratio";

/** `noVariation`: all pairable values are equal and 1 is a convention. `values` counts the pairable ones. */
export type Alpha =
  | {
      readonly status: "estimated";
      readonly estimate: number;
      readonly values: number;
      readonly noVariation: boolean;
    }
  | NotEstimated;

/**
 * Krippendorff's alpha from raters x units, null for a rating not given; units with one rating are ignored.
 * Undefined without a unit that two raters rated. Krippendorff 2011, golden J1, J2.
 */
export function krippendorffAlpha(
  ratersByUnits: readonly (readonly (number | null)[])[],
  level: MeasurementLevel,
): Alpha {
  const units = pairableUnits(ratersByUnits);
  if (units.length === 0) return notEstimated("no_pairable_values");
  const pooled = ascending(units.flat());
  const distance = DISTANCES[level](pooled);
  const observed = sum(units.map((unit) => allPairs(unit, distance) / (unit.length - 1)));
  const expected = allPairs(pooled, distance) / (pooled.length - 1);
  const noVariation = expected === 0;
  return {
    status: "estimated",
    estimate: noVariation ? 1 : 1 - observed / expected,
    values: pooled.length,
    noVariation,
  };
}

type Distance = (a: number, b: number) => number;

function pairableUnits(
  ratersByUnits: readonly (readonly (number | null)[])[],
): readonly (readonly number[])[] {
  const count = Math.max(0, ...ratersByUnits.map((row) => row.length));
  return Array.from({ length: count }, (_, unit) =>
    ratersByUnits.flatMap((row) => {
      const rating = row[unit] ?? null;
      return rating === null ? [] : [rating];
    }),
  ).filter((ratings) => ratings.length >= 2);
}

/** Sum of distances over ordered pairs of distinct positions. */
function allPairs(values: readonly number[], distance: Distance): number {
  const counts = countValues(values);
  return sum(counts.flatMap(([a, na]) => counts.map(([b, nb]) => na * nb * distance(a, b))));
}

const countValues = (values: readonly number[]): readonly (readonly [value: number, count: number])[] => {
  const counts = new Map<number, number>();
  for (const value of ascending(values)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts];
};

const DISTANCES: Readonly<Record<MeasurementLevel, (pooled: readonly number[]) => Distance>> = {
  nominal: () => (a, b) => (a === b ? 0 : 1),
  ordinal: ordinalDistance,
  interval: () => (a, b) => (a - b) ** 2,
  ratio: () => (a, b) => (a === b ? 0 : ((a - b) / (a + b)) ** 2),
};

/** Squared number of ratings between two values, each end counting half. */
function ordinalDistance(pooled: readonly number[]): Distance {
  const middles = new Map<number, number>();
  let below = 0;
  for (const [value, count] of countValues(pooled)) {
    middles.set(value, below + count / 2);
    below += count;
  }
  return (a, b) => ((middles.get(a) ?? 0) - (middles.get(b) ?? 0)) ** 2;
}
