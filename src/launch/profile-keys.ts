import { z } from "zod";
import { LauncherProfile } from "./profile.ts";

/** Keys that a profile of this content may have at a path: of its own kind where that is known, else of all kinds. */
export const profileKeys = (value: unknown, path: readonly string[]): string[] => {
  const found = path.reduce<readonly z.core.$ZodType[]>(
    (schemas, key) => schemas.flatMap((schema) => inside(schema, key)),
    ofKind(value),
  );
  return [...new Set(found.flatMap((schema) => Object.keys(shapeOf(schema))))];
};

function ofKind(value: unknown): readonly z.core.$ZodType[] {
  const kind = typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;
  const all = LauncherProfile.options;
  const own = all.filter((option) => hasKind(option, kind));
  return own.length > 0 ? own : all;
}

function hasKind(option: z.core.$ZodType, kind: unknown): boolean {
  const literal = shapeOf(option)["kind"];
  return literal instanceof z.ZodLiteral && literal.value === kind;
}

function inside(schema: z.core.$ZodType, key: string): z.core.$ZodType[] {
  if (schema instanceof z.ZodArray) return alternatives(schema.element);
  const inner = shapeOf(schema)[key];
  return inner === undefined ? [] : alternatives(inner);
}

// What stands behind a default, an optional value or a choice.
function alternatives(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return alternatives(schema.unwrap());
  return schema instanceof z.ZodUnion ? schema.options.flatMap(alternatives) : [schema];
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  // A profile of which some keys follow from others.
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in);
  return schema instanceof z.ZodObject ? schema.shape : {};
}
