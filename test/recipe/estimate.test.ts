import { describe, expect, it } from "vitest";
import { estimateTraining, GPUS, modelFacts, type ModelFacts } from "../../src/recipe/index.ts";
import { activationBytes, checkpointSize, gpuBytes, stateBytes } from "../../src/recipe/estimate-memory.ts";
import { evaluationSeconds, saveSeconds, trainingSeconds } from "../../src/recipe/estimate-time.ts";
import { countTokens } from "../../src/recipe/estimate-tokens.ts";
import { loadRecipe, type Recipe } from "../../src/recipe/index.ts";
import { join, resolve } from "node:path";

const found = modelFacts("Qwen/Qwen2.5-Omni-7B");
if (found === undefined) throw new Error("no facts");
const facts: ModelFacts = found;
const root = resolve(import.meta.dirname, "../..");
const recipe: Recipe = (await loadRecipe({ file: join(root, "recipes/speechrole-agent.yaml"), folder: root }))
  .recipe;

const common = { precision: "bf16", gradientCheckpointing: true, lora: { rank: 64 } } as const;
const zero2 = { ...common, mode: "full", zero: 2 } as const;
const lora = { ...common, mode: "lora", zero: 0 } as const;
const GB = 1e9;
const hours = (seconds: number): number => seconds / 3600;

// Every expected number here is one of the reference's tables for Qwen2.5-Omni-7B on 8 GPUs.
describe("memory", () => {
  it.each([
    ["full with ZeRO-2", zero2, 31.2],
    ["adapters at rank 64", lora, 20.5],
  ] as const)("of weights and optimizer for %s", (_, training, expected) => {
    expect(Math.abs(stateBytes(training, facts, 8) / GB - expected)).toBeLessThan(0.1);
  });

  it("of full training without ZeRO is more than any of these GPUs has but one", () => {
    const bytes = stateBytes({ ...zero2, zero: 0 }, facts, 8);
    expect(bytes / GB).toBeCloseTo(127.1, 0);
    expect(bytes).toBe(stateBytes({ ...zero2, zero: 0 }, facts, 1));
    expect(bytes).toBeGreaterThan(GPUS.h100.bytes);
  });

  it("doubles for weights that are not bf16", () => {
    const extra = stateBytes({ ...lora, precision: "fp32" }, facts, 8) - stateBytes(lora, facts, 8);
    expect(extra / GB).toBeCloseTo(17.9, 1);
  });

  it.each([
    [4096, 9.2],
    [8192, 18],
    [16_384, 37],
  ])("of activations with checkpointing, logits everywhere, at %d tokens", (tokens, expected) => {
    const bytes = activationBytes(facts, { tokens, logits: tokens, gradientCheckpointing: true });
    expect(Math.abs(bytes / GB - expected) / expected).toBeLessThan(0.03);
  });

  it("is less with logits at labels only, and more without checkpointing", () => {
    const batch = { tokens: 4096, logits: 300 };
    const labels = activationBytes(facts, { ...batch, gradientCheckpointing: true });
    expect(labels / GB).toBeCloseTo(0.82 + 0.86 + 0.55, 1);
    expect(activationBytes(facts, { ...batch, gradientCheckpointing: false })).toBeGreaterThan(10 * labels);
  });

  it("of a GPU is state, activations and overhead together", () => {
    const batch = { gpus: 8, perDialogue: 1250, labelsPerDialogue: 170 };
    const one = gpuBytes({ ...lora, microBatch: 1 }, facts, batch);
    const two = gpuBytes({ ...lora, microBatch: 2 }, facts, batch);
    const activations = activationBytes(facts, { tokens: 1250, logits: 170, gradientCheckpointing: true });
    expect(two - one).toBeCloseTo(activations, 0);
    expect(one - activations - stateBytes(lora, facts, 8)).toBe(2e9);
  });
});

describe("checkpoints", () => {
  it("of full ZeRO-2 training have 127 GB, and 64 s to be saved", () => {
    expect(Math.round(checkpointSize(zero2, facts) / GB)).toBe(127);
    expect(Math.round(saveSeconds(127e9))).toBe(64);
  });

  it.each([
    [8, 0.08 + 0.16],
    [16, 0.16 + 0.32],
    [32, 0.32 + 0.65],
    [64, 0.65 + 1.29],
  ])("of adapters at rank %d are adapter and optimizer", (rank, expected) => {
    expect(checkpointSize({ ...lora, lora: { rank } }, facts) / GB).toBeCloseTo(expected, 1);
  });
});

describe("time", () => {
  const work = { tokens: 139e6, gpus: 8, gpu: GPUS.h100 };

  it("of an epoch of 139 M tokens is 2.8 h at 10 % of the peak and 0.8 h at 35 %", () => {
    const { best, worst } = trainingSeconds(zero2, facts, work);
    expect(hours(worst)).toBeCloseTo(2.8, 1);
    expect(hours(worst) / 2).toBeCloseTo(1.4, 1);
    expect(hours(best)).toBeCloseTo(0.8, 1);
  });

  it("is three quarters of that for adapters, and less without recomputation", () => {
    const full = trainingSeconds(zero2, facts, work).worst;
    expect(trainingSeconds(lora, facts, work).worst / full).toBeCloseTo(0.75, 10);
    expect(trainingSeconds({ ...zero2, gradientCheckpointing: false }, facts, work).worst / full).toBeCloseTo(
      0.75,
      10,
    );
    expect(trainingSeconds({ ...lora, gradientCheckpointing: false }, facts, work).worst / full).toBeCloseTo(
      0.5,
      10,
    );
  });

  it("of an evaluation is a forward pass", () => {
    expect(evaluationSeconds(facts, work).worst / trainingSeconds(zero2, facts, work).worst).toBeCloseTo(
      0.25,
      10,
    );
  });
});

describe("tokens", () => {
  it("are the reference's mean while nothing is packed", () => {
    expect(countTokens(recipe, null)).toEqual({
      perDialogue: 1250,
      labelsPerDialogue: 170,
      from: "reference",
    });
  });

  it("are counted from the audio of the lock: a dialogue of one 8 s question, and of 3.3", () => {
    const single = countTokens(recipe, { rows: 100, turns: 100, audioSeconds: 800 });
    expect(single).toEqual({ perDialogue: 550 + 200 + 97, labelsPerDialogue: 85, from: "counted" });
    const multi = countTokens(recipe, { rows: 100, turns: 330, audioSeconds: 2640 });
    expect(multi.perDialogue).toBeCloseTo(1530, -1);
  });

  it("end at maxTokens", () => {
    const cut = { training: { ...recipe.training, maxTokens: 600 } };
    expect(countTokens(cut, { rows: 1, turns: 9, audioSeconds: 400 }).perDialogue).toBe(600);
  });
});

describe("estimateTraining", () => {
  const plan = {
    trainRows: 111_000,
    stepsPerEpoch: 3469,
    steps: 10_407,
    epochs: 3,
    evaluations: 21,
    rowsExpected: false,
  };
  const request = { recipe, plan, train: null, dev: null, gpus: 8, gpu: GPUS.h100 };

  it("adds up what a run does", () => {
    const estimate = estimateTraining(request);
    if (estimate === null) throw new Error("no estimate");
    expect(estimate.tokens.perEpoch / 1e6).toBeCloseTo(138.75, 2);
    expect(estimate.tokens.total).toBe(3 * estimate.tokens.perEpoch);
    const { seconds } = estimate;
    expect(hours(seconds.training.worst)).toBeCloseTo(3 * 0.75 * 2.757, 1);
    expect(seconds.best).toBeCloseTo(seconds.training.best + seconds.evaluations.best + seconds.saves, 6);
    expect(seconds.step.worst * plan.steps).toBeCloseTo(seconds.training.worst, 6);
    const saving = seconds.saves / plan.evaluations;
    expect(seconds.firstCheckpoint.worst).toBeCloseTo(500 * seconds.step.worst + saving, 6);
    expect(estimate.diskBytes).toBe(21 * estimate.checkpointBytes);
    expect(estimate.memory.longest).toBeGreaterThan(estimate.memory.mean);
  });

  it("counts the evaluations of dev", () => {
    const dev = { rows: 156, turns: 300, audioSeconds: 2000 };
    const without = estimateTraining(request);
    const withDev = estimateTraining({ ...request, dev });
    expect(without?.seconds.evaluations.best).toBe(0);
    expect(withDev?.seconds.evaluations.best).toBeGreaterThan(0);
  });

  it("says nothing of models whose shape it does not know", () => {
    const tiny: Recipe = { ...recipe, model: { kind: "tiny", seed: 1 } };
    const other: Recipe = { ...recipe, model: { kind: "hub", id: "Qwen/Qwen2.5-Omni-3B", revision: "r" } };
    expect(estimateTraining({ ...request, recipe: tiny })).toBeNull();
    expect(estimateTraining({ ...request, recipe: other })).toBeNull();
  });
});
