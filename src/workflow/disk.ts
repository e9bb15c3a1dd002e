import type { Recipe, ResolvedRecipe } from "../recipe/index.ts";

// Qwen2.5-Omni-7B: 161.5 M trainable numbers in the language-model projections at rank 64, linear in the rank.
const LORA_NUMBERS_PER_RANK = 161.5e6 / 64;
// Weights fp32 (4) and the two AdamW moments (8); full: bf16 weights twice and 12 bytes per trainable number (ZeRO-2).
const BYTES_PER_TRAINED_NUMBER = 12;
const FULL_CHECKPOINT_BYTES = 127e9;
const TINY_CHECKPOINT_BYTES = 12e6;

/** Bytes of one checkpoint by arithmetic, not by measurement. */
export const checkpointBytes = (recipe: Recipe): number => {
  if (recipe.model.kind === "tiny") return TINY_CHECKPOINT_BYTES;
  if (recipe.training.mode === "full") return FULL_CHECKPOINT_BYTES;
  return recipe.training.lora.rank * LORA_NUMBERS_PER_RANK * BYTES_PER_TRAINED_NUMBER;
};

/** Bytes that a training run writes when every checkpoint is kept. */
export const trainingBytes = ({ recipe, plan }: ResolvedRecipe): number =>
  checkpointBytes(recipe) * plan.evaluations;
