import { dirname, resolve } from "node:path";
import { UserError } from "../core/errors.ts";
import { placedPath } from "../core/read-yaml.ts";
import { recipeWarnings } from "./cross-checks.ts";
import type { LoadedRecipe } from "./load.ts";
import type { Recipe, TrainingPlan } from "./schema.ts";
import type { TrainRows } from "./train-rows.ts";

/** What a plan needs besides the recipe itself. */
export interface PlanSources {
  /** Dialogues that a recipe trains on. */
  rowsOf(recipe: Recipe): Promise<TrainRows>;
  /** Reads the recipe that `stepsOf` names; an absolute path. */
  load(file: string): Promise<LoadedRecipe>;
}

export interface PlannedTraining {
  readonly plan: TrainingPlan;
  /** Sentences that people should read before they start. */
  readonly warnings: readonly string[];
}

/** Fewer than this many evaluations leave nothing to choose between. */
const FEW_EVALUATIONS = 2;

/**
 * Steps and evaluations of a recipe. An optimizer step takes `globalBatch` dialogues; the last, partial batch of an
 * epoch is kept as a step of its own, as the trainer does (it rounds accumulation up at the end of an epoch). Steps go
 * to the payload as a number, so this plan is what happens.
 * Errors: `EVALUATION_TOO_RARE`, `STEPS_OF_CYCLE`, and those of the sources.
 */
export const planTraining = async (loaded: LoadedRecipe, sources: PlanSources): Promise<PlannedTraining> => {
  const { recipe } = loaded;
  const rows = await sources.rowsOf(recipe);
  const stepsPerEpoch = Math.ceil(rows.rows / recipe.training.globalBatch);
  const steps = await stepsOfRecipe(loaded, sources, []);
  const plan: TrainingPlan = {
    trainRows: rows.rows,
    stepsPerEpoch,
    steps: steps.steps,
    epochs: steps.steps / stepsPerEpoch,
    evaluations: countEvaluations(steps.steps, recipe.evaluation.everySteps),
    rowsExpected: rows.expected || steps.expected,
  };
  refuseRareEvaluation(recipe, plan, loaded.place(["evaluation", "everySteps"]));
  return { plan, warnings: [...recipeWarnings(recipe), ...planWarnings(recipe, plan)] };
};

/** Evaluations of a run: one every `everySteps`, and one at the last step, which is always evaluated and saved. */
export const countEvaluations = (steps: number, everySteps: number): number =>
  Math.floor(steps / everySteps) + (steps % everySteps === 0 ? 0 : 1);

interface Steps {
  readonly steps: number;
  readonly expected: boolean;
}

async function stepsOfRecipe(
  loaded: LoadedRecipe,
  sources: PlanSources,
  before: readonly string[],
): Promise<Steps> {
  const { duration, globalBatch } = loaded.recipe.training;
  if ("steps" in duration) return { steps: duration.steps, expected: false };
  if ("epochs" in duration) {
    const { rows, expected } = await sources.rowsOf(loaded.recipe);
    return { steps: Math.max(1, Math.round(duration.epochs * Math.ceil(rows / globalBatch))), expected };
  }
  const visited = [...before, loaded.file];
  const other = resolve(dirname(loaded.file), duration.stepsOf);
  if (visited.includes(other)) {
    throw new UserError(
      "STEPS_OF_CYCLE",
      `Recipes take their steps from each other: ${[...visited, other].join(" → ")}`,
      {
        hint: "one of them has to give training.duration in epochs or steps",
      },
    );
  }
  return stepsOfRecipe(await namedRecipe(loaded, other, sources), sources, visited);
}

// The recipe that is missing is not the one that was asked for: say who names it.
async function namedRecipe(loaded: LoadedRecipe, file: string, sources: PlanSources): Promise<LoadedRecipe> {
  try {
    return await sources.load(file);
  } catch (error) {
    if (!(error instanceof UserError) || !["FILE_MISSING", "FILE_IS_FOLDER"].includes(error.code))
      throw error;
    const place = placedPath(loaded.place(["training", "duration", "stepsOf"]), "training.duration.stepsOf");
    throw new UserError(error.code, `${place}: ${error.message}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  }
}

function refuseRareEvaluation(recipe: Recipe, plan: TrainingPlan, place: string): void {
  const { everySteps } = recipe.evaluation;
  if (everySteps <= plan.steps) return;
  throw new UserError(
    "EVALUATION_TOO_RARE",
    `${placedPath(place, "evaluation.everySteps")} is ${everySteps}, but the whole run has ${plan.steps} steps (${arithmetic(recipe, plan)})`,
    { hint: `evaluate every ${Math.max(1, Math.floor(plan.steps / 5))} steps to get about five checkpoints` },
  );
}

function planWarnings(recipe: Recipe, plan: TrainingPlan): string[] {
  if (plan.evaluations >= FEW_EVALUATIONS) return [];
  return [
    `only ${plan.evaluations} evaluation in ${plan.steps} steps (${arithmetic(recipe, plan)}): there is no checkpoint to choose between`,
  ];
}

/** How the steps come about, for people: `64 rows / 8 a step = 8 steps an epoch, 12.5 epochs`. */
export const arithmetic = (recipe: Recipe, plan: TrainingPlan): string =>
  `${count(plan.trainRows)} ${plan.rowsExpected ? "expected " : ""}rows / ${recipe.training.globalBatch} a step = ` +
  `${count(plan.stepsPerEpoch)} steps an epoch, ${rounded(plan.epochs)} epochs`;

const count = (value: number): string => value.toLocaleString("en-US");
const rounded = (value: number): string => String(Number(value.toPrecision(4)));
