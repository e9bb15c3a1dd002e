import type { DatasetLock } from "../../src/dataset/index.ts";

type Splits = DatasetLock["splits"];

/** The same value for each split. */
export const perSplit = <Value>(value: Value): Record<keyof Splits, Value> => ({
  train: value,
  dev: value,
  ood: value,
  test: value,
});

export const NO_TOKENS = { audio: 0, text: 0, labels: 0 };

const language = { roles: 0, rows: perSplit(0), tokens: perSplit(NO_TOKENS), trainShare: 0 };

/** The lock of a data set of which a test cares for a few things only. */
export const lockWith = (
  parts: Pick<DatasetLock, "name" | "splits"> & Partial<DatasetLock>,
): DatasetLock => ({
  schemaVersion: 1,
  specDigest: "0".repeat(64),
  seed: 1,
  sourceRevision: "1",
  builder: "test",
  codec: "wav",
  roles: [],
  nearDuplicates: null,
  drops: { byReason: {}, list: [] },
  gates: [],
  statistics: {
    languages: { en: language, zh: language },
    secondsPerClip: { user: [], role: [] },
    sameQuestion: { pairs: 0, examples: [] },
    copiedAnswers: { turns: 0, of: 0 },
    clippedClips: 0,
    answerClips: perSplit({ cosyvoice2: 0, f5_tts: 0, e2_tts: 0 }),
    quietClips: 0,
    resampledClips: 0,
  },
  ...parts,
});
