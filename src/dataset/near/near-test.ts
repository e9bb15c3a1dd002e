import type { Language } from "../schema.ts";
import { compare } from "../text.ts";
import { digestOfTables, embedded, type NearResult, type NearWorld } from "./near-duplicates.ts";
import { nearestOver } from "./nearest-over.ts";
import type { NearDialogue } from "./near-text.ts";
import type { NearRemoval } from "./settings.ts";

/**
 * Training dialogues of one role that resemble one of its test dialogues, single-turn or multi-turn alike: each with the
 * nearest test dialogue as `pivot` and `cluster`. Of equally near ones it is the first; an equal text counts as nearest.
 * Rejects like `nearDuplicates`.
 */
export const nearTest = async (
  role: {
    readonly language: Language;
    readonly train: readonly NearDialogue[];
    readonly test: readonly NearDialogue[];
  },
  world: NearWorld,
): Promise<NearResult> => {
  const train = await embedded(role.train, role.language, world);
  const test = await embedded(role.test, role.language, world);
  const threshold = world.settings.thresholds[role.language];
  const rows = await nearestOver(train.table, test.table, { threshold, signal: world.signal });
  const byRow = new Map(rows.map((entry) => [entry.row, entry]));
  const testByKey = new Map(test.texts.map(({ key, id }) => [key, id]));
  const removals = train.texts.flatMap(({ id: first, others, key }, row): NearRemoval[] => {
    const near = byRow.get(row);
    const same = testByKey.get(key);
    const pivot = same ?? (near === undefined ? undefined : test.table.ids[near.pivot]);
    if (pivot === undefined) return [];
    const cosine = same === undefined ? (near?.cosine ?? null) : null;
    return [first, ...others].map((id) => ({ id, pivot, cosine, cluster: pivot }));
  });
  return {
    removals: removals.toSorted((a, b) => compare(a.id, b.id)),
    compared: train.table.ids.length + test.table.ids.length,
    vectorsSha256: digestOfTables([train.table, test.table]),
  };
};
