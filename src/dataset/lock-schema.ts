import { z } from "zod";
import { EmbedderFingerprint } from "./near/embedder.ts";
import { NearRemoval, NearRule, NearText } from "./near/settings.ts";
import { Language, ReferenceBackend, Sha256 } from "./vocabulary.ts";

export const ShardEntry = z.strictObject({
  path: z.string().describe("Relative to the packed folder of the data set"),
  bytes: z.int().nonnegative(),
  sha256: Sha256,
  rows: z.int().nonnegative(),
});
export type ShardEntry = z.infer<typeof ShardEntry>;

export const Drop = z.strictObject({
  reason: z.string().describe("Stable word, e.g. audio_truncated"),
  role: z.string(),
  dialogue: z
    .string()
    .describe(
      "Where it stands in the source: file, its own id there, and the beginning of its first question (its index would depend on the order there)",
    ),
  turn: z.int().nonnegative().nullable(),
  detail: z.string(),
});
export type Drop = z.infer<typeof Drop>;

export const Gate = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  detail: z.string(),
  allowed: z
    .string()
    .nullable()
    .describe("Why a person let this violated gate pass; null: nobody did, or it was not violated"),
});
export type Gate = z.infer<typeof Gate>;

const perSplit = <Value extends z.ZodType>(
  value: Value,
): z.ZodObject<{ train: Value; dev: Value; ood: Value; test: Value }, z.core.$strict> =>
  z.strictObject({ train: value, dev: value, ood: value, test: value });

/** Tokens as the model will see them, without its tokenizer: audio is exact, text is estimated from characters. */
export const Tokens = z.strictObject({
  audio: z.int().nonnegative().describe("Of the users' audio: 25 for each second"),
  text: z.int().nonnegative().describe("Of system prompts and answers, estimated"),
  labels: z.int().nonnegative().describe("Of the answers alone, which are learnt; part of text"),
});
export type Tokens = z.infer<typeof Tokens>;

export const LockedRole = z.strictObject({
  id: z.string(),
  name: z.string(),
  stem: z.string(),
  language: Language,
  source: z.string(),
  categories: z.array(z.string()).default([]).describe("Names that its dialogues give for their category"),
  heldOut: z.boolean(),
  profileSha256: Sha256.nullable(),
  referenceClipSha256: Sha256.nullable(),
  rows: perSplit(z.int().nonnegative()),
  turns: perSplit(z.int().nonnegative()),
  tokens: perSplit(Tokens),
});
export type LockedRole = z.infer<typeof LockedRole>;

export const SplitLock = z.strictObject({
  shards: z.array(ShardEntry),
  rows: z.int().nonnegative(),
  turns: z.int().nonnegative(),
  audioSeconds: z.number().nonnegative().describe("Of all clips"),
  userSeconds: z.number().nonnegative().describe("Of the users' clips, which is all that the model hears"),
  tokens: Tokens,
});
export type SplitLock = z.infer<typeof SplitLock>;

/** Near-duplicates that were left out, and what they were found with. */
export const NearLock = z.strictObject({
  rule: NearRule,
  text: NearText,
  pools: z.enum(["separate", "together"]),
  embedders: z
    .record(
      Language,
      z
        .strictObject({
          threshold: z.number(),
          fingerprint: EmbedderFingerprint,
          compared: z.int().nonnegative(),
          vectorsSha256: Sha256.describe(
            "Of the ids and vectors compared: where two packs differ, it shows whether the vectors did",
          ),
        })
        .nullable(),
    )
    .describe("Per language; null where no role speaks it"),
  removed: z.array(
    NearRemoval.extend({
      role: z.string().describe("Slug"),
      because: z
        .enum(["near_duplicate", "near_test"])
        .describe("Near to another training dialogue, or to a test dialogue of the role"),
    }),
  ),
});
export type NearLock = z.infer<typeof NearLock>;

/** What is worth knowing and stops nothing. */
export const Statistics = z.strictObject({
  languages: z.record(
    Language,
    z.strictObject({
      roles: z.int().nonnegative(),
      rows: perSplit(z.int().nonnegative()),
      tokens: perSplit(Tokens),
      trainShare: z
        .number()
        .min(0)
        .max(1)
        .describe("Share of the label tokens of train: the mixture a recipe sees"),
    }),
  ),
  secondsPerClip: z.strictObject({
    user: z.array(z.int().nonnegative()).describe("Clips by whole seconds of length, the last one open"),
    role: z.array(z.int().nonnegative()),
  }),
  sameQuestion: z
    .strictObject({ pairs: z.int().nonnegative(), examples: z.array(z.string()) })
    .describe("Questions that stand in train and in test, with other answers: many are, being generic"),
  copiedAnswers: z
    .strictObject({ turns: z.int().nonnegative(), of: z.int().nonnegative() })
    .describe(
      "Test answers that stand word for word in the script of their role, or in what the role card quotes of it",
    ),
  answerClips: perSplit(
    z.record(ReferenceBackend, z.int().nonnegative()).describe("Answers that this reference speaks"),
  ).optional(),
  clippedClips: z.int().nonnegative(),
  quietClips: z.int().nonnegative().default(0).describe("Clips that are mostly below -50 dBFS"),
  resampledClips: z.int().nonnegative().describe("Clips whose source had another rate or several channels"),
});
export type Statistics = z.infer<typeof Statistics>;

export const DatasetLock = z.strictObject({
  schemaVersion: z.literal(1),
  name: z.string(),
  specDigest: Sha256,
  seed: z.int().nonnegative(),
  sourceRevision: z.string(),
  builder: z.string().describe("Version of the packing code; another version may give other bytes"),
  codec: z.enum(["wav", "flac"]),
  roles: z.array(LockedRole),
  splits: perSplit(SplitLock),
  nearDuplicates: NearLock.nullable(),
  drops: z.strictObject({ byReason: z.record(z.string(), z.int()), list: z.array(Drop) }),
  gates: z.array(Gate),
  statistics: Statistics,
});
export type DatasetLock = z.infer<typeof DatasetLock>;
