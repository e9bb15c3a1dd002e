import { SPLITS, type DatasetLock, type Split } from "../../../dataset/index.ts";

/** What a split of a packed data set holds. */
export interface SplitSummary {
  readonly dialogues: number;
  readonly turns: number;
  readonly audioSeconds: number;
  /** Of the users' clips, which is what a model hears. */
  readonly userSeconds: number;
  /** Of the answers, which is what it learns; estimated. */
  readonly labelTokens: number;
  readonly shards: number;
  readonly bytes: number;
}

export interface DatasetSummary {
  readonly splits: Readonly<Record<Split, SplitSummary>>;
  readonly dialogues: number;
  readonly shards: number;
  readonly bytes: number;
}

/** Totals of a lock, for people and `--json`. */
export const summaryOf = (lock: DatasetLock): DatasetSummary => {
  const of = (split: Split): SplitSummary => {
    const { rows, turns, audioSeconds, userSeconds, tokens, shards } = lock.splits[split];
    const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0);
    return {
      dialogues: rows,
      turns,
      audioSeconds,
      userSeconds,
      labelTokens: tokens.labels,
      shards: shards.length,
      bytes,
    };
  };
  const splits = { train: of("train"), dev: of("dev"), ood: of("ood"), test: of("test") };
  const total = (what: "dialogues" | "shards" | "bytes"): number =>
    SPLITS.reduce((sum, split) => sum + splits[split][what], 0);
  return { splits, dialogues: total("dialogues"), shards: total("shards"), bytes: total("bytes") };
};
