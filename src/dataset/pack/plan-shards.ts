import { digestOf } from "../../core/hash.ts";
import { SPLITS, type DatasetSpec, type RoleEntry, type Split } from "../schema.ts";
import { BUILDER } from "./lock.ts";
import type { SplitEntries } from "./split.ts";
import type { Entry } from "./entry.ts";

/** A shard before it is written. */
export interface PlannedShard {
  readonly split: Split;
  /** Relative to the packed folder, `data/train-00000-of-00003.parquet`. */
  readonly path: string;
  readonly entries: readonly Entry[];
  /** About. */
  readonly bytes: number;
  /** Digest of everything that decides its bytes. */
  readonly plan: string;
}

/** Fills shards in row order up to `shardBytes`; a dialogue is never split, and an empty split has no shard. */
export const planShards = (
  splits: SplitEntries,
  roles: readonly RoleEntry[],
  { shards: settings, audio }: Pick<DatasetSpec, "shards" | "audio">,
): readonly PlannedShard[] => {
  const bySlug = new Map(roles.map((role) => [role.slug, role]));
  return SPLITS.flatMap((split) => {
    const parts = fill(splits[split], settings.shardBytes);
    return parts.map((entries, index) => ({
      split,
      path: `data/${split}-${digits(index)}-of-${digits(parts.length)}.parquet`,
      entries,
      bytes: entries.reduce((sum, entry) => sum + entry.bytes, 0),
      plan: digestOf({
        builder: BUILDER,
        rowGroupBytes: settings.rowGroupBytes,
        footer: settings.footer,
        codec: audio.codec,
        rows: entries.map((entry) => {
          const { displayName, language, source } = bySlug.get(entry.roleId) ?? {};
          return [entry.id, entry.contentSha256, displayName, language, source];
        }),
      }),
    }));
  });
};

function fill(entries: readonly Entry[], limit: number): readonly (readonly Entry[])[] {
  const parts: Entry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const current = parts.at(-1);
    if (current && bytes + entry.bytes <= limit) {
      current.push(entry);
      bytes += entry.bytes;
    } else {
      parts.push([entry]);
      bytes = entry.bytes;
    }
  }
  return parts;
}

// Hugging Face finds the files of a split by exactly five digits.
const digits = (value: number): string => String(value).padStart(5, "0");
