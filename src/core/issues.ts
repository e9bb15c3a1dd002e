import type { z } from "zod";

/** All problems of a failed parse, one indented line each: `  training.steps: expected number`. */
export const prettyIssues = (error: z.ZodError): string =>
  error.issues.map((issue) => `  ${pathText(issue.path)}: ${issue.message}`).join("\n");

/** `turns[2].user_text`; the empty path is the whole document. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.length === 0
    ? "(whole file)"
    : path
        .map((key, index) =>
          typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${String(key)}`,
        )
        .join("");
