import { z } from "zod";
import { seededRandom, type Clusters, type Observation } from "../../src/stats/index.ts";

export const Numbers = z.array(z.number());
export const ByName = z.record(z.string(), Numbers);
export const PairSchema = z.tuple([z.number(), z.number()]);

export const clustersFrom = (record: Readonly<Record<string, readonly number[]>>): Clusters =>
  new Map(Object.entries(record));

/** Observations named by their position in each role's list. */
export const observationsFrom = (
  record: Readonly<Record<string, readonly (number | null)[]>>,
): readonly Observation[] =>
  Object.entries(record).flatMap(([cluster, values]) =>
    values.map((value, index) => ({ cluster, instance: String(index), value })),
  );

export function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const random = seededRandom(seed);
  return items
    .map((item) => ({ item, key: random.uint32() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Uniform values in [0, 1) with many digits, so that sums really round. */
export function uniforms(count: number, seed: number): readonly number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.uint32() / 2 ** 32);
}

/** A system with a role effect and noise; another seed is another system. */
export function randomSystem(roles: number, sessions: number, seed: number): readonly Observation[] {
  const noise = uniforms(roles * sessions, seed);
  return noise.map((value, index) => ({
    cluster: `role-${index % roles}`,
    instance: `session-${Math.floor(index / roles)}`,
    value: 0.5 + value + (index % roles) / roles,
  }));
}
