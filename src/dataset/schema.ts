import { z } from "zod";

/** The three reference backends of SpeechRole-Data, in the order of their columns. */
export const REFERENCE_BACKENDS = ["cosyvoice2", "f5_tts", "e2_tts"] as const;
export const ReferenceBackend = z.enum(REFERENCE_BACKENDS);
export type ReferenceBackend = z.infer<typeof ReferenceBackend>;

/** `train` seen roles · `dev` their held-back sessions · `ood` training-type dialogues of held-out roles · `test` all roles. */
export const SPLITS = ["train", "dev", "ood", "test"] as const;
export const Split = z.enum(SPLITS);
export type Split = z.infer<typeof Split>;

export const Language = z.enum(["en", "zh"]);
export type Language = z.infer<typeof Language>;

export const DialogueKind = z.enum(["single", "multi"]);
export type DialogueKind = z.infer<typeof DialogueKind>;

export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "expected 64 hexadecimal digits");

export const DatasetSpec = z.strictObject({
  schemaVersion: z.literal(1),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/)
    .describe("Name of the data set; its packed shards and lock are called after it"),
  description: z.string().describe("One sentence for people"),
  licence: z.string().describe("SPDX identifier or a sentence"),
  source: z
    .strictObject({
      format: z
        .literal("speechrole-release")
        .describe("Layout of the source; speechrole-release is the published one"),
      path: z.string().describe("Folder of the source, relative to this file"),
      revision: z.string().describe("Which state of the source: a commit, tag or date"),
      roles: z.string().describe("Role manifest (JSON), relative to the source folder"),
      references: z
        .strictObject({ "1": ReferenceBackend, "2": ReferenceBackend, "3": ReferenceBackend })
        .describe("Which backend spoke role_speech_path1, 2 and 3"),
      trainReference: ReferenceBackend.describe(
        "Which backend spoke role_speech_path of the training dialogues",
      ),
    })
    .describe("Where the dialogues come from"),
  splits: z
    .strictObject({
      seed: z.int().nonnegative().describe("Seed of every choice that is not given by name"),
      heldOutRoles: z
        .array(z.string())
        .describe("Stems of the roles that are never trained on; their training dialogues go to ood"),
      devPerRole: z
        .int()
        .nonnegative()
        .default(2)
        .describe("Dialogues per seen role kept from training to choose checkpoints"),
    })
    .describe("How dialogues are divided"),
  audio: z
    .strictObject({
      onBadClip: z
        .enum(["drop", "fail"])
        .default("drop")
        .describe("drop: leave the dialogue out, counted; fail: stop"),
    })
    .prefault({}),
  shards: z
    .strictObject({
      rowGroupBytes: z
        .int()
        .positive()
        .default(64_000_000)
        .describe("A row group is closed at this many bytes"),
      shardBytes: z.int().positive().default(500_000_000).describe("A shard is closed at this many bytes"),
      footer: z
        .enum(["list", "compat"])
        .default("list")
        .describe("compat: footer form that datasets 3.x can read too"),
    })
    .prefault({}),
  expected: z
    .strictObject({
      roles: z.int().positive().optional(),
      heldOutRoles: z.int().nonnegative().optional(),
      testSessions: z.int().positive().optional(),
      trainRows: z
        .int()
        .positive()
        .optional()
        .describe("Training dialogues before packing is known; used for plans of steps"),
      oodRows: z.int().positive().optional(),
    })
    .optional()
    .describe(
      "Counts the publisher states; other roles, held-out roles or test sessions are a violated gate",
    ),
});
export type DatasetSpec = z.infer<typeof DatasetSpec>;

/** One entry of the role manifest; stem and slug are bijective. */
export const RoleEntry = z.strictObject({
  stem: z.string().min(1),
  slug: z.string().regex(/^[a-z0-9_]+$/),
  displayName: z.string().min(1),
  language: Language,
  source: z.string(),
  heldOut: z.boolean(),
});
export type RoleEntry = z.infer<typeof RoleEntry>;

/** A clip in the one stored form: RIFF, 16 kHz, mono, s16, 44-byte header. */
export interface Clip {
  readonly bytes: Uint8Array;
  /** Short file name ending in .wav. */
  readonly path: string;
}

export interface Turn {
  readonly index: number;
  readonly userText: string;
  readonly userAudio: Clip;
  readonly roleText: string;
  /** A missing backend is null. */
  readonly roleAudio: Readonly<Record<ReferenceBackend, Clip | null>>;
}

/** One row of a shard: one dialogue. */
export interface Dialogue {
  readonly id: string;
  readonly roleId: string;
  readonly roleName: string;
  readonly language: Language;
  readonly roleSource: string;
  readonly kind: DialogueKind;
  readonly category: string | null;
  readonly systemPrompt: string | null;
  readonly context: string | null;
  readonly audioSeconds: number;
  readonly turns: readonly Turn[];
  readonly contentSha256: string;
}

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
      "Where it stands in the source: file and dialogue id (its index would depend on the order there)",
    ),
  turn: z.int().nonnegative().nullable(),
  detail: z.string(),
});
export type Drop = z.infer<typeof Drop>;

export const Gate = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  detail: z.string(),
});
export type Gate = z.infer<typeof Gate>;

export const LockedRole = z.strictObject({
  id: z.string(),
  name: z.string(),
  stem: z.string(),
  language: Language,
  source: z.string(),
  heldOut: z.boolean(),
  profileSha256: Sha256.nullable(),
  referenceClipSha256: Sha256.nullable(),
  rows: z.strictObject({ train: z.int(), dev: z.int(), ood: z.int(), test: z.int() }),
  turns: z.strictObject({ train: z.int(), dev: z.int(), ood: z.int(), test: z.int() }),
});
export type LockedRole = z.infer<typeof LockedRole>;

export const SplitLock = z.strictObject({
  shards: z.array(ShardEntry),
  rows: z.int().nonnegative(),
  turns: z.int().nonnegative(),
  audioSeconds: z.number().nonnegative(),
});
export type SplitLock = z.infer<typeof SplitLock>;

export const DatasetLock = z.strictObject({
  schemaVersion: z.literal(1),
  name: z.string(),
  specDigest: Sha256,
  seed: z.int().nonnegative(),
  sourceRevision: z.string(),
  builder: z.string().describe("Version of the packing code; another version may give other bytes"),
  roles: z.array(LockedRole),
  splits: z.strictObject({ train: SplitLock, dev: SplitLock, ood: SplitLock, test: SplitLock }),
  drops: z.strictObject({ byReason: z.record(z.string(), z.int()), list: z.array(Drop) }),
  gates: z.array(Gate),
});
export type DatasetLock = z.infer<typeof DatasetLock>;
