import { dirname, resolve } from "node:path";
import {
  loadRecipe,
  planTraining,
  readTrainRows,
  type LoadedRecipe,
  type PlannedTraining,
} from "../../../recipe/index.ts";
import type { Context } from "../../context.ts";

/** The option of every command that reads a recipe. */
export const SET_OPTION = {
  type: "string",
  many: true,
  value: "PATH=VALUE",
  describe: "Override one value, e.g. training.seed=7",
} as const;

/** Loads a recipe file and plans it against the data set of the project that the file lies in. */
export const planFile = async (
  file: string,
  set: readonly string[],
  context: Context,
): Promise<{ readonly loaded: LoadedRecipe; readonly planned: PlannedTraining }> => {
  const loaded = await loadRecipe({ file, folder: context.cwd, set });
  const project = await context.project(dirname(resolve(context.cwd, file)));
  const planned = await planTraining(loaded, {
    rowsOf: (recipe) => readTrainRows(recipe, project),
    load: (other) => loadRecipe({ file: other, folder: context.cwd }),
  });
  return { loaded, planned };
};
