import type { LoadedRecipe, RecipeValue } from "./load.ts";
import { PAPER_SOURCE } from "./paper.ts";
import type { PlannedTraining } from "./plan.ts";

/** A recipe with the origin of every value, and what follows from it. */
export interface Explanation {
  readonly name: string;
  readonly files: readonly string[];
  readonly paper: string;
  readonly values: readonly RecipeValue[];
  readonly derived: Readonly<Record<string, number | boolean>>;
  readonly warnings: readonly string[];
}

/** Everything there is to say about a recipe before it runs; plain data for tables and `--json`. */
export const explainRecipe = (loaded: LoadedRecipe, planned: PlannedTraining): Explanation => ({
  name: loaded.recipe.name,
  files: loaded.files,
  paper: PAPER_SOURCE,
  values: loaded.values,
  derived: planned.plan,
  warnings: planned.warnings,
});
