import { PAPER, PAPER_SOURCE } from "./paper.ts";

/** A value that holds when no file and no flag gives one. */
export interface Default {
  /** Path in the recipe, e.g. `training.lora.rank`. */
  readonly path: string;
  readonly value: unknown;
  /** Why this value, one line. */
  readonly why: string;
}

/** The sentence without which Qwen2.5-Omni may not speak, from its model card. */
export const QWEN_PREAMBLE =
  "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, capable of perceiving auditory and visual inputs, as well as generating text and speech.";

const ours = (path: string, value: unknown, why: string): Default => ({ path, value, why });

const OURS: readonly Default[] = [
  ours("dataset.trainOn", ["train"], "held-out roles stay unseen"),
  ours("prompt.preamble", QWEN_PREAMBLE, "Qwen2.5-Omni speaks only after its own sentence"),
  ours(
    "training.mode",
    "lora",
    "the talker drifts less, and a checkpoint takes about 2 GB instead of 127 GB",
  ),
  ours("training.schedule", "cosine", "not published; the usual shape for fine-tuning"),
  ours("training.warmupFraction", 0.03, "not published; AdamW's estimates settle within 3 % of the steps"),
  ours("training.weightDecay", 0, "not published; adapters start at zero and stay small"),
  ours("training.maxGradNorm", 1, "not published; the trainer's usual clipping"),
  ours("training.duration", { epochs: 3 }, "not published; 15 hours allow three passes at a modest speed"),
  ours("training.globalBatch", 32, "not published; leaves more than ten evaluations at one every 500 steps"),
  ours("training.microBatch", 2, "by arithmetic 8,192 tokens a pass fit 80 GB; 8 GPUs accumulate twice"),
  ours("training.maxTokens", 4096, "a dialogue has about 1,250 tokens; longer ones are rare"),
  ours("training.gradientCheckpointing", true, "by arithmetic 8,192 tokens a pass fit 80 GB only with it"),
  ours("training.lora.rank", 64, "not published; 161 M adapter parameters of a 7B model"),
  ours("training.lora.alpha", 128, "not published; twice the rank"),
  ours("training.lora.dropout", 0.05, "not published; the usual small amount"),
  ours("training.zero", 0, "adapters need no sharding"),
  ours("training.dataLoaderWorkers", 4, "clips are decoded ahead of the step; 8 GPUs then take 32 cores"),
  ours("training.seed", 42, "any fixed number; a claim about a recipe needs three"),
  ours("evaluation.logEverySteps", 10, "a point every minute or two at 5 to 10 seconds a step"),
  ours("evaluation.suites", ["test/seen", "test/unseen"], "what was learnt, and whether it generalises"),
  ours("evaluation.decoding.maxNewTokens", 512, "several times an ordinary role text of 70 to 100 tokens"),
  ours("evaluation.decoding.talkerMaxNewTokens", 4096, "the model's own default, 82 seconds"),
  ours("evaluation.decoding.temperature", 0, "greedy answers can be repeated"),
  ours("evaluation.decoding.token2wavSteps", 10, "the vocoder's own default"),
  ours("evaluation.decoding.batch", 8, "by arithmetic fits beside the model in 80 GB"),
  ours("evaluation.decoding.seed", 42, "the talker samples; a fixed seed keeps its voice comparable"),
  ours("evaluation.speaker", "Ethan", "the talker has two fixed voices; one must be chosen for all systems"),
  ours("evaluation.scoreBatch", 8, "by arithmetic fits beside the model in 80 GB"),
];

/** The built-in values: the published ones, and ours where the authors give none. */
export const DEFAULTS: readonly Default[] = [
  ...Object.entries(PAPER).map(([path, value]) => ({ path, value, why: `published (${PAPER_SOURCE})` })),
  ...OURS,
];

/** The default whose value holds at `path`, which may lie inside it: `training.duration.epochs`. */
export const defaultFor = (path: string): Default | undefined =>
  DEFAULTS.find((known) => path === known.path || path.startsWith(`${known.path}.`));
