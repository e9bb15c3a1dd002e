import { OVERHEAD_BYTES, type ModelFacts } from "./estimate-facts.ts";
import type { Recipe } from "./schema.ts";

type Training = Pick<Recipe["training"], "mode" | "zero" | "precision" | "gradientCheckpointing"> & {
  readonly lora: Pick<Recipe["training"]["lora"], "rank">;
};

// AdamW in fp32: two moments (8) and master weights or fp32 gradients (4), and 2 or 4 for the rest.
const ADAM = 12;

/** Numbers that a recipe trains. */
export const trainedNumbers = (training: Pick<Training, "mode" | "lora">, facts: ModelFacts): number =>
  training.mode === "full" ? facts.languageModel : training.lora.rank * facts.loraPerRank;

/**
 * Bytes of weights, gradients and optimizer state on each of `gpus`. Adapters: frozen weights, and 16 bytes for each trained
 * number. Full with ZeRO-2: whole weights, and 14 bytes for each trained number divided by the GPUs. Full without: weights in
 * fp32, with 12 bytes more for each trained one.
 */
export const stateBytes = (training: Training, facts: ModelFacts, gpus: number): number => {
  const trained = trainedNumbers(training, facts);
  const width = training.precision === "bf16" ? 2 : 4;
  if (training.mode === "lora") return width * facts.thinker + 16 * trained;
  if (training.zero === 2) return width * facts.thinker + ((width + ADAM) * trained) / gpus;
  return 4 * facts.thinker + ADAM * trained;
};

/** Bytes of activations for a micro-batch of `tokens`, of which `logits` pass the output layer. */
export const activationBytes = (
  facts: ModelFacts,
  {
    tokens,
    logits,
    gradientCheckpointing,
  }: {
    readonly tokens: number;
    readonly logits: number;
    readonly gradientCheckpointing: boolean;
  },
): number => {
  const { layers, hidden, intermediate, vocabulary } = facts;
  const layer = tokens * 2 * (8 * hidden + 4 * intermediate);
  const kept = tokens * layers * hidden * 2;
  return (gradientCheckpointing ? kept + layer : kept + layers * layer) + logits * vocabulary * 12;
};

/** Bytes of one GPU for a micro-batch of dialogues: state, activations, and the least that CUDA and buckets take. */
export const gpuBytes = (
  training: Training & Pick<Recipe["training"], "microBatch">,
  facts: ModelFacts,
  batch: { readonly gpus: number; readonly perDialogue: number; readonly labelsPerDialogue: number },
): number =>
  stateBytes(training, facts, batch.gpus) +
  activationBytes(facts, {
    tokens: training.microBatch * batch.perDialogue,
    logits: training.microBatch * batch.labelsPerDialogue,
    gradientCheckpointing: training.gradientCheckpointing,
  }) +
  OVERHEAD_BYTES;

/**
 * Bytes of one checkpoint. Adapters and their optimizer: 12 for each trained number. Full with ZeRO-2: bf16 weights twice (the
 * model's, and DeepSpeed's own) and 12 for each trained number.
 */
export const checkpointSize = (training: Training, facts: ModelFacts): number => {
  const trained = trainedNumbers(training, facts);
  if (training.mode === "lora") return ADAM * trained;
  if (training.zero === 0) return 4 * facts.thinker + 8 * trained;
  return 2 * (training.precision === "bf16" ? 2 : 4) * facts.thinker + ADAM * trained;
};
