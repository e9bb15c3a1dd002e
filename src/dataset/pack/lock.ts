import { CLIP_RATE } from "../../audio/index.ts";
import {
  SPLITS,
  type DatasetLock,
  type Drop,
  type Gate,
  type LockedRole,
  type ShardEntry,
} from "../schema.ts";
import type { SourceRole } from "../source/source.ts";
import type { LoadedSpec } from "../load-spec.ts";
import { compare } from "../text.ts";
import { heldOutStems } from "./gates.ts";
import type { SplitEntries } from "./split.ts";
import type { Entry } from "./survey.ts";

/** Version of the packing code: raise it whenever the same input gives other bytes. */
export const BUILDER = "understudy pack 1, hyparquet-writer 0.17.0";

export interface LockParts {
  readonly loaded: LoadedSpec;
  readonly roles: readonly SourceRole[];
  readonly splits: SplitEntries;
  readonly shards: Readonly<Record<(typeof SPLITS)[number], readonly ShardEntry[]>>;
  readonly drops: readonly Drop[];
  readonly gates: readonly Gate[];
}

/** The lock of a finished pack: the same parts give the same text, whatever order anything was read in. */
export const lockOf = ({ loaded, roles, splits, shards, drops, gates }: LockParts): DatasetLock => {
  const { spec, digest } = loaded;
  const listed = heldOutStems(spec);
  const split = (name: (typeof SPLITS)[number]): DatasetLock["splits"]["train"] => ({
    shards: [...shards[name]],
    rows: splits[name].length,
    turns: sum(splits[name], (entry) => entry.turns),
    audioSeconds: sum(splits[name], (entry) => entry.samples) / CLIP_RATE,
  });
  return {
    schemaVersion: 1,
    name: spec.name,
    specDigest: digest,
    seed: spec.splits.seed,
    sourceRevision: spec.source.revision,
    builder: BUILDER,
    roles: roles
      .map((role) => lockRole(role, listed.has(role.stem), splits))
      .toSorted((a, b) => compare(a.id, b.id)),
    splits: { train: split("train"), dev: split("dev"), ood: split("ood"), test: split("test") },
    drops: { byReason: countReasons(drops), list: [...drops] },
    gates: [...gates],
  };
};

function lockRole(role: SourceRole, heldOut: boolean, splits: SplitEntries): LockedRole {
  const perSplit = (of: (entry: Entry) => number): LockedRole["rows"] => {
    const [train = 0, dev = 0, ood = 0, test = 0] = SPLITS.map((split) =>
      sum(
        splits[split].filter((entry) => entry.roleId === role.slug),
        of,
      ),
    );
    return { train, dev, ood, test };
  };
  return {
    id: role.slug,
    name: role.displayName,
    stem: role.stem,
    language: role.language,
    source: role.source,
    heldOut,
    profileSha256: role.profileSha256,
    referenceClipSha256: role.referenceClipSha256,
    rows: perSplit(() => 1),
    turns: perSplit((entry) => entry.turns),
  };
}

function countReasons(drops: readonly Drop[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of drops.toSorted((a, b) => compare(a.reason, b.reason)))
    counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

function sum(entries: readonly Entry[], of: (entry: Entry) => number): number {
  return entries.reduce((total, entry) => total + of(entry), 0);
}
