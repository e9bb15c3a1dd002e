import { SPLITS, type DatasetLock, type Split } from "../../../dataset/index.ts";

/** What a split of a packed data set holds. */
export interface SplitSummary {
  readonly dialogues: number;
  readonly turns: number;
  readonly audioSeconds: number;
  readonly shards: number;
  readonly bytes: number;
}

export interface DatasetSummary {
  readonly splits: Readonly<Record<Split, SplitSummary>>;
  readonly shards: number;
  readonly bytes: number;
}

/** Totals of a lock, for people and `--json`. */
export const summaryOf = (lock: DatasetLock): DatasetSummary => {
  const of = (split: Split): SplitSummary => {
    const { rows, turns, audioSeconds, shards } = lock.splits[split];
    const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0);
    return { dialogues: rows, turns, audioSeconds, shards: shards.length, bytes };
  };
  const splits = { train: of("train"), dev: of("dev"), ood: of("ood"), test: of("test") };
  return {
    splits,
    shards: SPLITS.reduce((sum, split) => sum + splits[split].shards, 0),
    bytes: SPLITS.reduce((sum, split) => sum + splits[split].bytes, 0),
  };
};
