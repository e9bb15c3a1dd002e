import { z } from "zod";
import { valueIn } from "./issues.ts";

/** Keys that a schema knows at a path of a value: of the alternatives that fit what stands there, else of all. */
export const knownKeys = (schema: z.core.$ZodType, root: unknown, path: readonly PropertyKey[]): string[] => {
  let schemas = fitting([schema], root);
  for (const [index, key] of path.entries())
    schemas = fitting(
      schemas.flatMap((outer) => inside(outer, key)),
      valueIn(root, path.slice(0, index + 1)),
    );
  return [...new Set(schemas.flatMap((one) => Object.keys(shapeOf(one))))];
};

// The alternatives whose fixed words, such as a format, are those of the value.
function fitting(schemas: readonly z.core.$ZodType[], value: unknown): readonly z.core.$ZodType[] {
  const all = schemas.flatMap(alternatives);
  const fit = all.filter((schema) =>
    Object.entries(shapeOf(schema)).every(([key, inner]) => {
      const own = valueIn(value, [key]);
      return !(inner instanceof z.ZodLiteral) || [...inner.values].some((word) => word === own);
    }),
  );
  return fit.length > 0 ? fit : all;
}

function inside(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType[] {
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  const inner = shapeOf(schema)[String(key)];
  return inner === undefined ? [] : [inner];
}

// What stands behind a default, an optional value or a choice.
function alternatives(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return alternatives(schema.unwrap());
  if (schema instanceof z.ZodPipe) return alternatives(schema.in);
  return schema instanceof z.ZodUnion ? schema.options.flatMap(alternatives) : [schema];
}

const shapeOf = (schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> =>
  schema instanceof z.ZodObject ? schema.shape : {};
