/** One scored unit: `cluster` is the role, `instance` its session; null means unscored, never 0. */
export interface Observation {
  readonly cluster: string;
  readonly instance: string;
  readonly value: number | null;
}

/** Scored values by cluster (role). The order of keys and of values has no effect on any estimate. */
export type Clusters = ReadonlyMap<string, readonly number[]>;

/** Scored values by cluster; a cluster whose observations are all unscored stays, with an empty list. */
export function groupByCluster(observations: readonly Observation[]): Clusters {
  const groups = new Map<string, number[]>();
  for (const { cluster, value } of observations) {
    const group = groups.get(cluster) ?? [];
    if (value !== null) group.push(value);
    groups.set(cluster, group);
  }
  return groups;
}

/** Entries in code-unit order of their keys: the same on every machine, unlike a locale's order. */
export function sortedEntries<V>(map: ReadonlyMap<string, V>): readonly (readonly [string, V])[] {
  return [...map].toSorted(([a], [b]) => compareText(a, b));
}

/** Code-unit order of two texts, for sorting: negative, 0 or positive. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
