import type { ResolvedRecipe } from "../recipe/index.ts";

interface Inputs {
  readonly model: { readonly path: string; readonly revision: string };
  readonly device: "auto" | "cpu" | "cuda";
  /** Absolute shard paths. */
  readonly train: readonly string[];
  readonly dev: readonly string[];
}

/** The payload's manifest of a training job, without what the launcher adds (attempt and paths). Pure. */
export const trainManifest = (
  resolved: ResolvedRecipe,
  inputs: Inputs,
): Readonly<Record<string, unknown>> => {
  const { training, evaluation, prompt } = resolved.recipe;
  return {
    schemaVersion: 1,
    kind: "train",
    device: inputs.device,
    model: inputs.model,
    prompt: { preamble: prompt.preamble },
    data: { train: inputs.train, dev: inputs.dev },
    training: {
      mode: training.mode,
      precision: training.precision,
      learningRate: training.learningRate,
      weightDecay: training.weightDecay,
      maxGradNorm: training.maxGradNorm,
      schedule: training.schedule,
      warmupFraction: training.warmupFraction,
      steps: resolved.plan.steps,
      globalBatch: training.globalBatch,
      microBatch: training.microBatch,
      evalEverySteps: evaluation.everySteps,
      saveEverySteps: evaluation.everySteps,
      logEverySteps: evaluation.logEverySteps,
      maxTokens: training.maxTokens,
      gradientCheckpointing: training.gradientCheckpointing,
      lora: training.mode === "lora" ? training.lora : null,
      zero: training.zero,
      dataLoaderWorkers: training.dataLoaderWorkers,
      seed: training.seed,
    },
  };
};
