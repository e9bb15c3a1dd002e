// Stage 2 of 7: a YAML recipe becomes a frozen, hashed ResolvedRecipe with the origin of every value.
export {
  arithmetic,
  countEvaluations,
  planTraining,
  type PlannedTraining,
  type PlanSources,
} from "./plan.ts";
export { DEFAULTS, QWEN_PREAMBLE, type Default } from "./defaults.ts";
export { estimateTraining, type Estimate, type EstimateRequest } from "./estimate.ts";
export {
  GPUS,
  MFU,
  modelFacts,
  SAVE_BYTES_PER_SECOND,
  type GpuFacts,
  type ModelFacts,
} from "./estimate-facts.ts";
export { checkpointSize } from "./estimate-memory.ts";
export type { Span } from "./estimate-time.ts";
export type { SplitCounts } from "./estimate-tokens.ts";
export { explainRecipe, type Explanation } from "./explain.ts";
export { jsonSchemaOf, recipeJsonSchema } from "./json-schema.ts";
export { loadRecipe, type LoadedRecipe, type LoadRecipeOptions, type RecipeValue } from "./load.ts";
export { PAPER, PAPER_SOURCE } from "./paper.ts";
export { resolveRecipe, trainingRoles, type Resolution, type ResolveOptions } from "./resolve.ts";
export { Duration, ModelChoice, Origin, Recipe, ResolvedRecipe, TrainingPlan } from "./schema.ts";
export { lockedRows, readTrainRows, type TrainRows } from "./train-rows.ts";
