import { arithmetic, type LoadedRecipe, type PlannedTraining } from "../../../recipe/index.ts";
import { defineCommand } from "../../command.ts";
import { countText } from "../../quantities.ts";
import { pairLines } from "../../table.ts";
import { planFile, SET_OPTION } from "./plan-file.ts";

export const recipeCheck = defineCommand({
  positionals: { file: { describe: "Recipe (YAML)", complete: "recipe" } },
  options: { set: SET_OPTION },
  json: true,
  details:
    "Tells everything that is wrong at once, with file, line and column. Nothing is written or started.",
  examples: [
    "understudy recipe check recipes/quickstart.yaml",
    "understudy recipe check recipes/speechrole-agent.yaml --set training.duration.epochs=1",
  ],
  handler: async ({ file, set }, context) => {
    const { loaded, planned } = await planFile(file, set, context);
    const { recipe, files } = loaded;
    const { plan, warnings } = planned;
    context.print.result({ valid: true, name: recipe.name, files, plan, warnings }, () => [
      `${loaded.files[0] ?? file} is valid`,
      ...pairLines(summary(loaded, planned)),
    ]);
    for (const warning of warnings) context.print.warn(warning);
  },
});

function summary({ recipe }: LoadedRecipe, { plan }: PlannedTraining): [string, string][] {
  const { name, trainOn } = recipe.dataset;
  const { everySteps } = recipe.evaluation;
  const source = plan.rowsExpected
    ? `not packed yet, so rows are those its spec expects (understudy dataset pack ${name})`
    : "rows as its lock counts them";
  return [
    ["data set", `${name}, ${trainOn.join(" + ")}: ${source}`],
    ["steps", `${countText(plan.steps)} (${arithmetic(recipe, plan)})`],
    ["evaluations", `${plan.evaluations}, every ${everySteps} steps and after the last one`],
  ];
}
