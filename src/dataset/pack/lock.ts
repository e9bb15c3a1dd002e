import { CLIP_RATE } from "../../audio/index.ts";
import type { LoadedSpec } from "../load-spec.ts";
import {
  SPLITS,
  type DatasetLock,
  type Drop,
  type Gate,
  type LockedRole,
  type NearLock,
  type ShardEntry,
  type Split,
} from "../schema.ts";
import type { SourceRole } from "../source/source.ts";
import { compare } from "../text.ts";
import type { Entry } from "./entry.ts";
import type { HeldOut } from "./held-out.ts";
import { groupByRole, type SplitEntries } from "./split.ts";
import { perSplit, statisticsOf } from "./statistics.ts";
import { sumTokens } from "./tokens.ts";

/** Version of the packing code: raise it whenever the same input gives other bytes. */
export const BUILDER = "understudy pack 4, hyparquet-writer 0.17.0";

export interface LockParts {
  readonly loaded: LoadedSpec;
  /** Which state of the source was read: the spec's, or for a Hub repository the commit that it stood at. */
  readonly sourceRevision: string;
  readonly roles: readonly SourceRole[];
  readonly heldOut: HeldOut;
  readonly splits: SplitEntries;
  readonly shards: Readonly<Record<Split, readonly ShardEntry[]>>;
  readonly nearDuplicates: NearLock | null;
  readonly drops: readonly Drop[];
  readonly gates: readonly Gate[];
}

/** The lock of a finished pack: the same parts give the same text, whatever order anything was read in. */
export const lockOf = (parts: LockParts): DatasetLock => {
  const { loaded, roles, heldOut, splits, shards, drops, gates } = parts;
  const { spec, digest } = loaded;
  const split = (name: Split): DatasetLock["splits"]["train"] => ({
    shards: [...shards[name]],
    rows: splits[name].length,
    turns: sum(splits[name], (entry) => entry.turns),
    audioSeconds: sum(splits[name], (entry) => entry.samples) / CLIP_RATE,
    userSeconds: sum(splits[name], (entry) => entry.userSamples) / CLIP_RATE,
    tokens: sumTokens(splits[name]),
  });
  const byRole = perSplit((name) => groupByRole(splits[name]));
  return {
    schemaVersion: 1,
    name: spec.name,
    specDigest: digest,
    seed: spec.splits.seed,
    sourceRevision: parts.sourceRevision,
    builder: BUILDER,
    codec: spec.audio.codec,
    roles: roles
      .map((role) => lockRole(role, heldOut.ood.has(role.slug), byRole))
      .toSorted((a, b) => compare(a.id, b.id)),
    splits: perSplit(split),
    nearDuplicates: parts.nearDuplicates,
    drops: { byReason: countReasons(drops), list: [...drops] },
    gates: [...gates],
    statistics: statisticsOf(roles, splits),
  };
};

type ByRole = Readonly<Record<Split, ReadonlyMap<string, readonly Entry[]>>>;

function lockRole(role: SourceRole, heldOut: boolean, byRole: ByRole): LockedRole {
  const entriesOf = (split: Split): readonly Entry[] => byRole[split].get(role.slug) ?? [];
  return {
    id: role.slug,
    name: role.displayName,
    stem: role.stem,
    language: role.language,
    source: role.source,
    categories: categoriesOf(SPLITS.flatMap(entriesOf)),
    heldOut,
    profileSha256: role.profileSha256,
    referenceClipSha256: role.referenceClipSha256,
    rows: perSplit((split) => entriesOf(split).length),
    turns: perSplit((split) => sum(entriesOf(split), (entry) => entry.turns)),
    tokens: perSplit((split) => sumTokens(entriesOf(split))),
  };
}

const categoriesOf = (entries: readonly Entry[]): string[] =>
  [...new Set(entries.flatMap(({ category }) => category ?? []))].toSorted(compare);

function countReasons(drops: readonly Drop[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of drops.toSorted((a, b) => compare(a.reason, b.reason)))
    counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

function sum(entries: readonly Entry[], of: (entry: Entry) => number): number {
  return entries.reduce((total, entry) => total + of(entry), 0);
}
