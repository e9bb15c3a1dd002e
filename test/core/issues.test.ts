import { describe, expect, it } from "vitest";
import { z } from "zod";
import { prettyIssues } from "../../src/core/issues.ts";

const textOf = (schema: z.ZodType, value: unknown): string => {
  const { error } = schema.safeParse(value);
  return error ? prettyIssues(error, value) : "";
};

describe("issues of one of several forms", () => {
  const model = z.union([
    z.strictObject({ name: z.string(), folder: z.string() }),
    z.strictObject({ name: z.string(), endpoint: z.string(), dimension: z.number() }),
  ]);

  it("are those of the form that fits best", () => {
    const value = { models: [{ name: "m", endpoint: "e" }] };
    expect(textOf(z.object({ models: z.array(model) }), value)).toBe(
      "  models[0].dimension: missing; expected number",
    );
    expect(textOf(model, { name: 1, folder: "f" })).toBe("  name: expected string, not 1");
    expect(textOf(model, { name: "m", folder: "f", depth: 1 })).toBe("  (whole file): unknown key depth");
  });

  it("stay one where no form fits", () => {
    expect(textOf(z.object({ size: z.union([z.number(), z.boolean()]) }), { size: "x" })).toBe(
      '  size: invalid input, not "x"',
    );
  });
});
