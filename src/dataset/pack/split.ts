import { sha256 } from "../../core/hash.ts";
import type { DatasetSpec, Split } from "../schema.ts";
import { compare } from "../text.ts";
import type { Entry } from "./survey.ts";

/** Entries of each split, in the order of their rows. */
export type SplitEntries = Readonly<Record<Split, readonly Entry[]>>;

/**
 * Divides the dialogues. Test sessions are test; training dialogues of held-out roles are ood; of each seen role the
 * `devPerRole` that rank lowest by a seeded hash of their id are dev, the rest train. Rows are shuffled by another
 * seeded hash. Nothing depends on the order of the input.
 */
export const splitEntries = (
  entries: readonly Entry[],
  heldOut: ReadonlySet<string>,
  { seed, devPerRole }: Pick<DatasetSpec["splits"], "seed" | "devPerRole">,
): SplitEntries => {
  const pool = entries.filter((entry) => entry.pool === "train");
  const seen = pool.filter((entry) => !heldOut.has(entry.roleId));
  const dev = new Set(
    [...groupByRole(seen).values()].flatMap((group) =>
      ranked(group, `${seed}|dev`)
        .slice(0, devPerRole)
        .map((entry) => entry.id),
    ),
  );
  const rows = (members: readonly Entry[]): readonly Entry[] => ranked(members, `${seed}|rows`);
  return {
    train: rows(seen.filter((entry) => !dev.has(entry.id))),
    dev: rows(seen.filter((entry) => dev.has(entry.id))),
    ood: rows(pool.filter((entry) => heldOut.has(entry.roleId))),
    test: rows(entries.filter((entry) => entry.pool === "test")),
  };
};

export const groupByRole = (entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> => {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.roleId) ?? [];
    group.push(entry);
    groups.set(entry.roleId, group);
  }
  return groups;
};

function ranked(entries: readonly Entry[], salt: string): readonly Entry[] {
  return entries
    .map((entry) => ({ entry, rank: sha256(`${salt}|${entry.id}`) }))
    .toSorted((a, b) => compare(a.rank, b.rank))
    .map(({ entry }) => entry);
}
