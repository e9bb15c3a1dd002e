import type { z } from "zod";
import { issueText, pathText, valueIn } from "../../core/issues.ts";
import type { Problem } from "./draft.ts";

/** The first issue of a failed shape, in words: `turns[1].role_text is missing`; `list` is the key of the turns. */
export const shapeProblem = (error: z.ZodError, raw: unknown, list: string): Problem => {
  const [issue] = error.issues;
  if (!issue || issue.path.length === 0)
    return { reason: "shape", turn: null, detail: "it is not an object with the fields of a dialogue" };
  const [first, second] = issue.path;
  const turn = first === list && typeof second === "number" ? second : null;
  return { reason: "shape", turn, detail: detailOf(issue, raw) };
};

function detailOf(issue: z.core.$ZodIssue, raw: unknown): string {
  const path = pathText(issue.path);
  const value = valueIn(raw, issue.path);
  if (value === undefined) return `${path} is missing`;
  if (issue.code === "too_small" && issue.minimum === 1) return `${path} is empty`;
  // Audio is the only field that may be of several kinds.
  if (issue.code === "invalid_union") return `${path}: expected a path, bytes, or both as {bytes, path}`;
  return `${path}: ${issueText(issue, value)}`;
}
