import { describe, expect, it } from "vitest";
import { DEFAULTS, PAPER, Recipe } from "../../src/recipe/index.ts";
import { isKnownPath } from "../../src/recipe/known-paths.ts";

describe("built-in values", () => {
  it("exist for settings that the schema has, each with a reason", () => {
    expect(DEFAULTS.filter(({ path }) => !isKnownPath(path.split("."))).map(({ path }) => path)).toEqual([]);
    expect(DEFAULTS.filter(({ why }) => why.length < 10)).toEqual([]);
    expect(new Set(DEFAULTS.map(({ path }) => path)).size).toBe(DEFAULTS.length);
  });

  it("are the published ones wherever the authors publish one", () => {
    for (const [path, value] of Object.entries(PAPER)) {
      expect(DEFAULTS.find((known) => known.path === path)?.value, path).toEqual(value);
    }
  });

  it("leave only what to train to a recipe", () => {
    const issues = Recipe.safeParse({}).error?.issues.map(({ path }) => path.join(".")) ?? [];
    const given = new Set(DEFAULTS.map(({ path }) => path.split(".")[0]));
    expect(issues.filter((key) => !given.has(key))).toEqual([
      "schemaVersion",
      "name",
      "description",
      "model",
    ]);
  });
});
