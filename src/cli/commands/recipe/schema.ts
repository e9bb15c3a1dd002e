import { join } from "node:path";
import { readIfExists, writeAtomic } from "../../../core/files.ts";
import { DatasetSpec } from "../../../dataset/index.ts";
import { LauncherProfile } from "../../../launch/index.ts";
import { jsonSchemaOf, recipeJsonSchema } from "../../../recipe/index.ts";
import { defineCommand } from "../../command.ts";

export const recipeSchema = defineCommand({
  positionals: {},
  options: {
    write: {
      type: "boolean",
      describe:
        "Write recipes/recipe.schema.json, datasets/dataset.schema.json and launchers/launcher.schema.json",
    },
  },
  json: true,
  details: "Editors that know YAML complete keys and show their meaning with it.",
  handler: async ({ write }, context) => {
    if (!write) {
      const schema = recipeJsonSchema();
      context.print.result(schema, () => [JSON.stringify(schema, null, 2)]);
      return;
    }
    const project = await context.project();
    const files = {
      [join(project.recipes, "recipe.schema.json")]: recipeJsonSchema(),
      [join(project.datasets, "dataset.schema.json")]: jsonSchemaOf(DatasetSpec),
      [join(project.launchers, "launcher.schema.json")]: jsonSchemaOf(LauncherProfile),
    };
    const written: string[] = [];
    for (const [path, schema] of Object.entries(files)) {
      const text = `${JSON.stringify(schema, null, 2)}\n`;
      if ((await readIfExists(path)) === text) continue;
      await writeAtomic(path, text);
      written.push(path);
    }
    context.print.result({ written }, () =>
      written.length === 0 ? ["all schemas are current"] : written.map((path) => `wrote ${path}`),
    );
  },
});
