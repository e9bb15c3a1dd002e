import { compareText, type Observation } from "./observations.ts";

/** Which side lacks the instance, or has it without a score. */
export type DropReason = "only_in_a" | "only_in_b" | "unscored_in_a" | "unscored_in_b" | "unscored_in_both";

/** An instance that left the comparison because one side has no score for it. */
export interface Dropped {
  readonly cluster: string;
  readonly instance: string;
  readonly reason: DropReason;
}

/** Scores of one instance under both systems. */
export interface PairedValue {
  readonly a: number;
  readonly b: number;
}

/** What two systems share, and what they do not. */
export interface Pairing {
  /** Instances scored for both systems, by cluster, clusters and instances in sorted order. */
  readonly shared: ReadonlyMap<string, readonly PairedValue[]>;
  readonly dropped: readonly Dropped[];
}

/** Intersection of two systems by (cluster, instance). RangeError when a system holds an instance twice. */
export function pairObservations(a: readonly Observation[], b: readonly Observation[]): Pairing {
  const left = byInstance(a, "a");
  const right = byInstance(b, "b");
  const shared = new Map<string, PairedValue[]>();
  const dropped: Dropped[] = [];
  for (const key of [...new Set([...left.keys(), ...right.keys()])].toSorted(compareText)) {
    const [fromA, fromB] = [left.get(key), right.get(key)];
    const some = fromA ?? fromB;
    if (some === undefined) continue;
    const { cluster, instance } = some;
    const [valueA, valueB] = [fromA?.value, fromB?.value];
    if (typeof valueA === "number" && typeof valueB === "number") {
      shared.set(cluster, [...(shared.get(cluster) ?? []), { a: valueA, b: valueB }]);
    } else dropped.push({ cluster, instance, reason: dropReason(valueA, valueB) });
  }
  return { shared, dropped };
}

function byInstance(observations: readonly Observation[], side: string): Map<string, Observation> {
  const found = new Map<string, Observation>();
  for (const observation of observations) {
    const key = JSON.stringify([observation.cluster, observation.instance]);
    if (found.has(key)) throw new RangeError(`System ${side} holds instance ${key} twice`);
    found.set(key, observation);
  }
  return found;
}

function dropReason(a: number | null | undefined, b: number | null | undefined): DropReason {
  if (b === undefined) return "only_in_a";
  if (a === undefined) return "only_in_b";
  if (a === null && b === null) return "unscored_in_both";
  return a === null ? "unscored_in_a" : "unscored_in_b";
}
