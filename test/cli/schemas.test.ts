import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DatasetSpec } from "../../src/dataset/index.ts";
import { LauncherProfile } from "../../src/launch/index.ts";
import { jsonSchemaOf, recipeJsonSchema } from "../../src/recipe/index.ts";

const root = join(import.meta.dirname, "../..");

describe("committed schemas", () => {
  it.each([
    ["recipes/recipe.schema.json", recipeJsonSchema()],
    ["datasets/dataset.schema.json", jsonSchemaOf(DatasetSpec)],
    ["launchers/launcher.schema.json", jsonSchemaOf(LauncherProfile)],
  ])("%s is current (else: npm run schemas)", async (file, schema) => {
    expect(JSON.parse(await readFile(join(root, file), "utf8"))).toEqual(schema);
  });
});
