import { describe, expect, it } from "vitest";
import { recipeJsonSchema } from "../../src/recipe/index.ts";
import { valueAt } from "../../src/recipe/layers.ts";

describe("recipeJsonSchema", () => {
  const schema = recipeJsonSchema();

  it("explains every key that has a meaning of its own", () => {
    expect(valueAt(schema, ["properties", "training", "properties", "learningRate", "description"])).toBe(
      "Peak learning rate",
    );
  });

  it("asks nothing of a file that extends another", () => {
    expect(schema["required"]).toBeUndefined();
    expect(valueAt(schema, ["properties", "training", "required"])).toBeUndefined();
    expect(valueAt(schema, ["properties", "extends", "type"])).toBe("string");
  });

  it("asks a file that stands alone for what has no built-in value", () => {
    expect(schema["if"]).toEqual({ not: { required: ["extends"] } });
    expect(valueAt(schema, ["then", "required"])).toEqual([
      "schemaVersion",
      "name",
      "description",
      "dataset",
      "model",
    ]);
  });

  it("still refuses unknown keys at every level", () => {
    expect(schema["additionalProperties"]).toBe(false);
    expect(valueAt(schema, ["properties", "training", "properties", "lora", "additionalProperties"])).toBe(
      false,
    );
  });
});
