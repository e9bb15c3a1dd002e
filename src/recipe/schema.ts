import { z } from "zod";

const positive = z.number().positive();

export const ModelChoice = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("hub"),
      id: z.string().describe("Repository on the model hub, e.g. Qwen/Qwen2.5-Omni-7B"),
      revision: z.string().describe("Commit of that repository: pinned, so that a run can be repeated"),
    }),
    z.strictObject({
      kind: z.literal("tiny"),
      seed: z.int().nonnegative().describe("Seed of the random weights"),
    }),
  ])
  .describe(
    "hub: published weights, staged under the profile's models folder; tiny: a random Qwen2.5-Omni of under 1 M parameters made on the spot",
  );
export type ModelChoice = z.infer<typeof ModelChoice>;

export const Duration = z
  .union([
    z.strictObject({ epochs: positive.describe("Passes over the training rows") }),
    z.strictObject({ steps: z.int().positive().describe("Optimizer steps") }),
    z.strictObject({
      stepsOf: z.string().describe("As many optimizer steps as this other recipe (a file beside this one)"),
    }),
  ])
  .describe("How long to train: epochs, steps, or the steps of another recipe");
export type Duration = z.infer<typeof Duration>;

/** WHAT to train and how it is compared. Never a host, path or secret: any recipe runs on any launcher. */
export const Recipe = z.strictObject({
  schemaVersion: z.literal(1),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/)
    .describe("Name of the recipe; runs are called after it"),
  description: z.string().describe("One sentence for people"),
  dataset: z.strictObject({
    name: z.string().describe("A data set of this project: datasets/NAME.yaml"),
    trainOn: z
      .array(z.enum(["train", "ood"]))
      .min(1)
      .describe("Splits whose rows are trained on; ood makes the held-out roles seen"),
  }),
  model: ModelChoice,
  prompt: z.strictObject({
    preamble: z
      .string()
      .describe("Text before every role card. Qwen2.5-Omni speaks only after its own exact sentence"),
  }),
  training: z.strictObject({
    mode: z
      .enum(["lora", "full"])
      .describe("lora: adapters on the language model; full: the whole language model"),
    precision: z
      .enum(["bf16", "fp32"])
      .describe("bf16: autocast, with fp32 master weights and optimizer state"),
    learningRate: positive.describe("Peak learning rate"),
    schedule: z.enum(["cosine", "linear", "constant"]).describe("Shape of the learning rate after warm-up"),
    warmupFraction: z
      .number()
      .min(0)
      .max(0.5)
      .describe("Share of the steps over which the learning rate rises"),
    weightDecay: z.number().nonnegative().describe("AdamW weight decay"),
    maxGradNorm: positive.describe("Gradients are clipped to this norm"),
    duration: Duration,
    globalBatch: z.int().positive().describe("Dialogues per optimizer step over all GPUs and accumulation"),
    microBatch: z.int().positive().describe("Dialogues per GPU and forward pass"),
    maxTokens: z.int().positive().describe("Longer dialogues lose their oldest whole turns"),
    gradientCheckpointing: z.boolean().describe("Recompute activations instead of keeping them"),
    lora: z
      .strictObject({
        rank: z.int().positive().describe("Rank of the adapters"),
        alpha: positive.describe("Scale of the adapters: alpha / rank"),
        dropout: z.number().min(0).max(1).describe("Dropout in front of the adapters"),
      })
      .describe("Used when mode is lora"),
    zero: z
      .union([z.literal(0), z.literal(2)])
      .describe("DeepSpeed ZeRO stage for mode full on GPUs; 0: plain DDP"),
    dataLoaderWorkers: z.int().nonnegative().describe("Processes per GPU that decode audio"),
    seed: z.int().nonnegative().describe("Seed of data order, dropout and new weights"),
  }),
  evaluation: z.strictObject({
    everySteps: z.int().positive().describe("Dev loss and a checkpoint every so many optimizer steps"),
    logEverySteps: z.int().positive().describe("Training loss is reported every so many steps"),
    suites: z
      .array(z.enum(["test/seen", "test/unseen"]))
      .min(1)
      .describe("What base model and checkpoints are compared on"),
    decoding: z.strictObject({
      maxNewTokens: z.int().positive().describe("Longest answer in text tokens"),
      talkerMaxNewTokens: z.int().positive().describe("Longest spoken answer in codec tokens, 50 a second"),
      temperature: z.number().nonnegative().describe("0: greedy"),
      token2wavSteps: z.int().min(2).describe("Solver steps of the vocoder"),
      batch: z.int().positive().describe("Dialogues answered together"),
      seed: z.int().nonnegative(),
    }),
    speaker: z.enum(["Chelsie", "Ethan"]).describe("The talker's fixed voice: part of what a system is"),
    scoreBatch: z.int().positive().describe("Dialogues scored together"),
  }),
});
export type Recipe = z.infer<typeof Recipe>;

/** Where a value comes from: published by the authors, our choice (a built-in default), a file, or --set. */
export const Origin = z.enum(["paper", "ours", "file", "flag"]);
export type Origin = z.infer<typeof Origin>;

/** Numbers that follow from recipe and lock. */
export const TrainingPlan = z.strictObject({
  trainRows: z.int().positive(),
  stepsPerEpoch: z.int().positive(),
  steps: z.int().positive(),
  epochs: z.number().positive(),
  evaluations: z.int().positive(),
  /** True when rows come from the spec's expected counts because nothing is packed yet. */
  rowsExpected: z.boolean(),
});
export type TrainingPlan = z.infer<typeof TrainingPlan>;

/** Frozen: the same digest wherever it runs. */
export const ResolvedRecipe = z.strictObject({
  schemaVersion: z.literal(1),
  recipe: Recipe,
  plan: TrainingPlan,
  /** Digest of the dataset lock; the shards are checked against it before every launch. */
  datasetLockDigest: z.string(),
  /** Digest over the payload's source and lock files. */
  payloadDigest: z.string(),
  trainingRoles: z
    .array(z.string())
    .describe("Role ids in the training rows, sorted: what 'seen' means for its checkpoints"),
});
export type ResolvedRecipe = z.infer<typeof ResolvedRecipe>;
