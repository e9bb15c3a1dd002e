import { modelFacts, type GpuFacts } from "./estimate-facts.ts";
import { checkpointSize, gpuBytes, stateBytes } from "./estimate-memory.ts";
import { evaluationSeconds, saveSeconds, trainingSeconds, type Span } from "./estimate-time.ts";
import { countTokens, type SplitCounts, type TokenCounts } from "./estimate-tokens.ts";
import type { Recipe, TrainingPlan } from "./schema.ts";

export interface EstimateRequest {
  readonly recipe: Recipe;
  readonly plan: TrainingPlan;
  /** Of the splits that are trained on, and of dev; null where nothing is packed. */
  readonly train: SplitCounts | null;
  readonly dev: SplitCounts | null;
  readonly gpus: number;
  readonly gpu: GpuFacts;
}

/** What a training costs at least: arithmetic from the model's shape, the data's size and the GPU's data sheet. */
export interface Estimate {
  readonly tokens: TokenCounts & { readonly perEpoch: number; readonly total: number };
  readonly memory: {
    /** Weights, gradients and optimizer state on each GPU, in bytes. */
    readonly state: number;
    /** With a micro-batch of mean dialogues. */
    readonly mean: number;
    /** With a micro-batch of the longest dialogues that `maxTokens` lets through. */
    readonly longest: number;
  };
  /** Seconds for everything, and for its parts. */
  readonly seconds: Span & {
    readonly training: Span;
    readonly evaluations: Span;
    readonly saves: number;
    readonly step: Span;
    /** Until the first evaluation has ended and its checkpoint is saved. */
    readonly firstCheckpoint: Span;
  };
  readonly checkpointBytes: number;
  /** When every checkpoint is kept. */
  readonly diskBytes: number;
}

/** The lower bound of a training's cost; null for a model whose shape is not known (a tiny one, another published one). Pure. */
export const estimateTraining = (request: EstimateRequest): Estimate | null => {
  const { recipe, plan, gpus, gpu, train, dev } = request;
  const { training, model } = recipe;
  const facts = model.kind === "hub" ? modelFacts(model.id) : undefined;
  if (facts === undefined) return null;
  const tokens = countTokens(recipe, train);
  const perEpoch = plan.trainRows * tokens.perDialogue;
  const total = perEpoch * plan.epochs;
  const fast = { gpus, gpu };
  const devTokens = (dev?.rows ?? 0) * countTokens(recipe, dev).perDialogue;
  const learning = trainingSeconds(training, facts, { ...fast, tokens: total });
  const evaluation = evaluationSeconds(facts, { ...fast, tokens: devTokens });
  const checkpointBytes = checkpointSize(training, facts);
  const saving = saveSeconds(checkpointBytes);
  const step = times(learning, 1 / plan.steps);
  const evaluations = times(evaluation, plan.evaluations);
  const saves = saving * plan.evaluations;
  return {
    tokens: { ...tokens, perEpoch, total },
    memory: {
      state: stateBytes(training, facts, gpus),
      mean: gpuBytes(training, facts, { gpus, ...tokens }),
      longest: gpuBytes(training, facts, { gpus, ...tokens, perDialogue: training.maxTokens }),
    },
    seconds: {
      ...sum(learning, evaluations, saves),
      training: learning,
      evaluations,
      saves,
      step,
      firstCheckpoint: sum(times(step, recipe.evaluation.everySteps), evaluation, saving),
    },
    checkpointBytes,
    diskBytes: checkpointBytes * plan.evaluations,
  };
};

const times = ({ best, worst }: Span, factor: number): Span => ({
  best: best * factor,
  worst: worst * factor,
});

const sum = (a: Span, b: Span, more: number): Span => ({
  best: a.best + b.best + more,
  worst: a.worst + b.worst + more,
});
