import { explainRecipe, type RecipeValue } from "../../../recipe/index.ts";
import { defineCommand } from "../../command.ts";
import { pairLines, tableLines } from "../../table.ts";
import { planFile, SET_OPTION } from "./plan-file.ts";

// Setting, value and origin together fit into 80 columns only with shorter values.
const WIDE = 120;

export const recipeExplain = defineCommand({
  positionals: { file: { describe: "Recipe (YAML)", complete: "recipe" } },
  options: { set: SET_OPTION },
  json: true,
  details:
    "Origins: paper (published by the authors), ours (built in, with the reason), file (written in a recipe), flag (--set).",
  examples: ["understudy recipe explain recipes/speechrole-agent.yaml --set training.lora.rank=16"],
  handler: async ({ file, set }, { print, ...context }) => {
    const { loaded, planned } = await planFile(file, set, { print, ...context });
    const explanation = explainRecipe(loaded, planned);
    print.result(explanation, () => [
      ...tableLines({
        columns: [
          { title: "setting" },
          { title: "value", most: context.columns < WIDE ? 28 : 40 },
          { title: "origin" },
          { title: "where or why", below: true },
        ],
        rows: explanation.values.map(row),
        title: print.style.bold,
        width: context.columns,
      }),
      "",
      print.style.bold("what follows"),
      ...pairLines(Object.entries(explanation.derived).map(([name, value]) => [name, String(value)])),
      "",
      `paper: ${explanation.paper}`,
    ]);
    for (const warning of explanation.warnings) print.warn(warning);
  },
});

function row({ path, value, origin, place, why }: RecipeValue): string[] {
  return [path, typeof value === "string" ? value : JSON.stringify(value), origin, place ?? why ?? ""];
}
