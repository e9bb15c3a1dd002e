import { z } from "zod";
import { isTree, valueAt, type Path, type Tree } from "./layers.ts";
import { DEFAULTS } from "./defaults.ts";
import { EXTENDS } from "./known-paths.ts";
import { Recipe } from "./schema.ts";

/**
 * JSON Schema of a recipe *file* for editors. A file may extend another and then give any part; alone it must give what
 * has no built-in value.
 */
export const recipeJsonSchema = (): Tree => {
  const { properties, required, ...schema } = loosened(jsonSchemaOf(Recipe), []);
  const own = isTree(properties) ? properties : {};
  return {
    ...schema,
    title: "Recipe of Understudy: what to train and how it is compared",
    properties: {
      [EXTENDS]: {
        type: "string",
        description: "A recipe file beside this one whose values hold where this one gives none",
      },
      ...own,
    },
    if: { not: { required: [EXTENDS] } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema; nobody awaits this data
    then: {
      required,
      properties: { dataset: { required: ["name"] }, model: { required: ["kind"] } },
    },
  };
};

/** JSON Schema of what people write (inputs, before defaults) for a zod schema. */
export const jsonSchemaOf = (schema: z.ZodType): Tree => {
  const made: unknown = JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: "input" })));
  return isTree(made) ? made : {};
};

// Drops `required` wherever the rest may come from a parent file or a built-in value. The alternatives of a duration
// keep theirs: they are told apart by their one key.
function loosened(schema: Tree, path: Path): Tree {
  const dotted = path.join(".");
  if (dotted === "training.duration") return schema;
  const { properties, required, ...rest } = schema;
  const loose: Record<string, unknown> = { ...rest };
  for (const union of ["oneOf", "anyOf"]) {
    const options = valueAt(schema, [union]);
    if (Array.isArray(options)) {
      delete loose[union];
      loose["anyOf"] = options.map((option: unknown) => (isTree(option) ? loosened(option, path) : option));
    }
  }
  if (isTree(properties)) {
    loose["properties"] = Object.fromEntries(
      Object.entries(properties).map(([key, inner]) => [
        key,
        isTree(inner) ? loosened(inner, [...path, key]) : inner,
      ]),
    );
  }
  if (path.length === 0 && Array.isArray(required)) {
    loose["required"] = required.filter((key: unknown) => !hasDefaults(String(key)));
  }
  return loose;
}

// Everything below `training`, `evaluation` and `prompt` has a built-in value; `dataset` needs its name.
function hasDefaults(key: string): boolean {
  return key !== "dataset" && DEFAULTS.some(({ path }) => path === key || path.startsWith(`${key}.`));
}
