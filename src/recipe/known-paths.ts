import { z } from "zod";
import { Recipe } from "./schema.ts";

/** Key of a recipe file that the loader reads and the schema does not have. */
export const EXTENDS = "extends";

/** Keys that the schema knows below a path; for alternatives the keys of all of them. */
export const knownKeys = (path: readonly PropertyKey[]): string[] => {
  const keys = schemasAt(path).flatMap((schema) => Object.keys(objectShape(schema)));
  return [...new Set(path.length === 0 ? [...keys, EXTENDS] : keys)];
};

/** Every path of a recipe, maps and single values alike: `training`, `training.lora`, `training.lora.rank`, … */
export const knownPaths = (): string[] => below([Recipe], "");

/** True when a value may stand at this path. */
export const isKnownPath = (path: readonly PropertyKey[]): boolean =>
  path.length > 0 && schemasAt(path).length > 0;

/** The alternatives of a schema at a path: one, or the options of a union. */
export const schemasAt = (path: readonly PropertyKey[]): z.core.$ZodType[] =>
  path.reduce<z.core.$ZodType[]>(
    (schemas, key) =>
      schemas.flatMap((schema) => {
        const inner = objectShape(schema)[String(key)];
        return inner === undefined ? [] : alternatives(inner);
      }),
    alternatives(Recipe),
  );

function alternatives(schema: z.core.$ZodType): z.core.$ZodType[] {
  return schema instanceof z.ZodUnion ? schema.options.flatMap(alternatives) : [schema];
}

function objectShape(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  return schema instanceof z.ZodObject ? schema.shape : {};
}

function below(schemas: readonly z.core.$ZodType[], prefix: string): string[] {
  const paths = schemas.flatMap((schema) =>
    Object.entries(objectShape(schema)).flatMap(([key, inner]) => {
      const path = prefix === "" ? key : `${prefix}.${key}`;
      return [path, ...below(alternatives(inner), path)];
    }),
  );
  return [...new Set(paths)];
}
