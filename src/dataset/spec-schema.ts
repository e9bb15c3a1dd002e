import { z } from "zod";
import { Checks } from "./checks-schema.ts";
import { ReferenceBackend } from "./vocabulary.ts";

const path = z.string().describe("Folder or file of the source, relative to this file");
const revision = z.string().describe("Which state of the source: a commit, tag or date");
const roles = z.string().describe("Role manifest (JSON), in the source folder or else beside this file");
const speech = {
  references: z
    .strictObject({ "1": ReferenceBackend, "2": ReferenceBackend, "3": ReferenceBackend })
    .describe("Which backend spoke role_speech_path1, 2 and 3"),
  trainReference: ReferenceBackend.describe(
    "Which backend spoke an answer that does not say: role_speech_path",
  ),
};
const given = { path, revision, roles, trainReference: speech.trainReference };

const Source = z
  .discriminatedUnion("format", [
    z.strictObject({
      format: z
        .literal("speechrole-release")
        .describe(
          "Role files as the authors made and released them: train/{single,multi}/ROLE.json and test_data/, audio beside them or inline",
        ),
      path,
      revision,
      roles,
      ...speech,
      mislabelled: z
        .enum(["relabel", "exclude"])
        .optional()
        .describe("What happens to a role whose files are another character's; left out: relabel"),
    }),
    z.strictObject({
      format: z
        .literal("manifest")
        .describe("One dialogue per line of JSONL, or one turn per row of CSV, with paths of audio files"),
      ...given,
    }),
    z.strictObject({
      format: z
        .literal("parquet")
        .describe(
          "Parquet of dialogues: our own shards, or a table written by datasets, pyarrow or parquetjs-lite",
        ),
      ...given,
    }),
    z.strictObject({
      format: z
        .literal("hub")
        .describe("A dataset repository on the Hugging Face Hub that holds such Parquet"),
      repo: z.string().regex(/^[\w.-]+\/[\w.-]+$/, "expected OWNER/NAME"),
      revision: z.string().describe("Commit, tag or branch; the commit it stood at is recorded in the lock"),
      roles,
      trainReference: speech.trainReference,
    }),
  ])
  .describe("Where the dialogues come from");

const HeldOut = z
  .array(z.string())
  .describe("Stems of the roles that are never trained on; their training dialogues go to ood");
const perRole = {
  testPerRole: z
    .int()
    .nonnegative()
    .default(4)
    .describe("Sessions of each role for the test, where the source has no test sessions of its own"),
  devPerRole: z
    .int()
    .nonnegative()
    .default(2)
    .describe("Dialogues per seen role kept from training to choose checkpoints"),
};
const seed = z.int().nonnegative().describe("Seed of every choice that is not given by name");

const Splits = z
  .discriminatedUnion("by", [
    z.strictObject({
      by: z.literal("spec").describe("The held-out roles are named here"),
      seed,
      heldOutRoles: HeldOut,
      ...perRole,
    }),
    z.strictObject({
      by: z
        .literal("seed")
        .describe(
          "The held-out roles are drawn by the seed, in proportion over language and source of the roles",
        ),
      seed,
      heldOutCount: z.int().positive().describe("How many roles are never trained on"),
      ...perRole,
    }),
    z.strictObject({
      by: z
        .literal("folds")
        .describe("Roles take turns being held out, in proportion over language and source"),
      seed,
      folds: z.int().min(2).default(5).describe("Number of folds"),
      fold: z.int().min(1).describe("Which fold this data set holds out, from 1"),
      devRoles: z
        .int()
        .nonnegative()
        .default(2)
        .describe(
          "Roles of the training side whose dialogues all go to dev, so that a choice sees unseen roles too",
        ),
      ...perRole,
    }),
  ])
  .describe("How dialogues are divided");

const model = z.string().describe("Name of the embedding model, as it goes into the lock");
const threshold = z
  .number()
  .gt(0)
  .lt(1)
  .describe("Two dialogues of a role are near when their cosine is greater");

/** An embedding model that runs here, or one that an endpoint serves. */
export const EmbeddingModel = z.union([
  z.strictObject({
    model,
    threshold,
    folder: z.string().describe("Local folder of the model, relative to this file"),
  }),
  z.strictObject({
    model,
    threshold,
    endpoint: z
      .url()
      .describe("Address of a feature-extraction endpoint; its token is HF_TOKEN, if there is one"),
    revision: z.string().describe("Which state of the model is served there: nobody can check it from here"),
    dimension: z.int().positive().describe("Numbers per vector"),
    dtype: z.string().default("unknown").describe("Number format that is computed in there"),
    pooling: z.string().default("mean").describe("How token vectors become one there"),
    maxTokens: z.int().positive().nullable().default(null).describe("Where longer texts are cut there"),
  }),
]);
export type EmbeddingModel = z.infer<typeof EmbeddingModel>;

const NearDuplicates = z
  .strictObject({
    rule: z
      .enum(["greedy", "components"])
      .default("greedy")
      .describe(
        "greedy: keep what is near to nothing kept, as the authors did; components: one of each chain",
      ),
    text: z
      .enum(["first_user", "dialogue"])
      .default("first_user")
      .describe("What is compared: the first question, as the authors did, or the whole dialogue"),
    pools: z
      .enum(["separate", "together"])
      .default("separate")
      .describe("Whether single-turn and multi-turn dialogues are compared with each other"),
    models: z
      .strictObject({ en: EmbeddingModel, zh: EmbeddingModel })
      .partial()
      .describe("A model per language"),
  })
  .describe("Removal of dialogues that nearly repeat another one of their role; left out: none is made");

export const DatasetSpec = z.strictObject({
  schemaVersion: z.literal(1),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/)
    .describe("Name of the data set; its packed shards and lock are called after it"),
  description: z.string().describe("One sentence for people"),
  licence: z.string().describe("SPDX identifier or a sentence"),
  source: Source,
  splits: Splits,
  nearDuplicates: NearDuplicates.optional(),
  checks: Checks,
  audio: z
    .strictObject({
      codec: z
        .enum(["wav", "flac"])
        .default("wav")
        .describe("How stored clips are kept; flac takes about half the bytes and the same samples"),
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
        .max(100_000_000)
        .default(32_000_000)
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
