import { checkpointSize, modelFacts, type Recipe, type ResolvedRecipe } from "../recipe/index.ts";

const TINY_CHECKPOINT_BYTES = 12e6;

/** Bytes of one checkpoint by arithmetic, not by measurement; of a model whose shape is not known, those of the largest that is. */
export const checkpointBytes = (recipe: Recipe): number => {
  if (recipe.model.kind === "tiny") return TINY_CHECKPOINT_BYTES;
  const facts = modelFacts(recipe.model.id) ?? modelFacts(LARGEST);
  return facts === undefined ? 0 : checkpointSize(recipe.training, facts);
};

const LARGEST = "Qwen/Qwen2.5-Omni-7B";

/** Bytes that a training run writes when every checkpoint is kept. */
export const trainingBytes = ({ recipe, plan }: ResolvedRecipe): number =>
  checkpointBytes(recipe) * plan.evaluations;
