import type { Problem } from "../core/read-yaml.ts";
import { valueAt, type Layer, type Tree } from "./layers.ts";
import { problemAt } from "./problems.ts";
import type { Recipe } from "./schema.ts";

/**
 * Problems between values, each of which is valid by itself. Works on the raw map, so that they are told together
 * with everything else that is wrong.
 */
export const crossProblems = (merged: Tree, layers: readonly Layer[]): Problem[] => {
  const read = (dotted: string): unknown => valueAt(merged, dotted.split("."));
  const globalBatch = wholeNumber(read("training.globalBatch"));
  const microBatch = wholeNumber(read("training.microBatch"));
  const problems: Problem[] = [];
  if (globalBatch !== undefined && microBatch !== undefined && globalBatch % microBatch !== 0) {
    const message = `${globalBatch} is not a multiple of training.microBatch ${microBatch}`;
    problems.push(problemAt(["training", "globalBatch"], message, layers));
  }
  if (read("training.mode") === "lora" && read("training.zero") === 2) {
    const message = "ZeRO stage 2 is for training.mode full; adapters are trained with plain DDP";
    problems.push(problemAt(["training", "zero"], message, layers));
  }
  return problems;
};

/** Usual learning rate of full fine-tuning; adapters take about ten times as much. */
const FULL_LEARNING_RATE = 1e-5;

/** Sentences about a valid recipe that people should read before they pay for it. */
export const recipeWarnings = ({ training, model }: Recipe): string[] => {
  const warnings: string[] = [];
  if (training.mode === "full" && model.kind === "hub" && training.learningRate >= 10 * FULL_LEARNING_RATE) {
    warnings.push(
      `training.learningRate ${training.learningRate} is ten times or more what full fine-tuning usually takes (${FULL_LEARNING_RATE})`,
    );
  }
  if (training.mode === "full" && training.zero === 0 && model.kind === "hub") {
    warnings.push("training.mode full with training.zero 0 needs about 124 GB on each GPU for a 7B model");
  }
  return warnings;
};

function wholeNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}
