import type { z } from "zod";

/**
 * All problems of a failed parse, one indented line each: `  training.steps: expected number, not "many"`. `root` is what
 * was parsed; without it the values that stand there are not told.
 */
export const prettyIssues = (error: z.ZodError, root?: unknown): string =>
  plainIssues(error.issues)
    .map((issue) => `  ${pathText(issue.path)}: ${described(issue, root)}`)
    .join("\n");

/**
 * The same issues, with those of the form that fits best in place of "none of several forms", where some form fits so far that
 * only something inside is wrong.
 */
export const plainIssues = (issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] =>
  issues.flatMap((issue) => {
    if (issue.code !== "invalid_union") return [issue];
    const [best] = issue.errors
      .filter((form) => form.every(({ path, code }) => path.length > 0 || code === "unrecognized_keys"))
      .toSorted((a, b) => a.length - b.length);
    if (best === undefined) return [issue];
    return plainIssues(best).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
  });

/** `turns[2].user_text`; the empty path is the whole document. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.length === 0
    ? "(whole file)"
    : path
        .map((key, index) =>
          typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${String(key)}`,
        )
        .join("");

/** What is wrong with the value at one place, in words: `expected bf16 or fp32, not "bf61"`. */
export const issueText = (issue: z.core.$ZodIssue, value: unknown): string => {
  if (value === undefined) return `missing; ${expectation(issue)}`;
  const isWhole = typeof value !== "object" || value === null || issue.code === "invalid_type";
  return isWhole ? `${expectation(issue)}, not ${shownValue(value)}` : expectation(issue);
};

/** The value at a path, or undefined. */
export const valueIn = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inner, key) => {
    if (typeof inner !== "object" || inner === null) return undefined;
    return Object.getOwnPropertyDescriptor(inner, key)?.value;
  }, root);

function described(issue: z.core.$ZodIssue, root: unknown): string {
  if (root === undefined || issue.code === "unrecognized_keys") return expectation(issue);
  return issueText(issue, valueIn(root, issue.path));
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `unknown key ${issue.keys.join(", ")}`;
  if (issue.code === "invalid_type") return `expected ${issue.expected}`;
  if (issue.code === "invalid_value") return `expected ${issue.values.map(String).join(" or ")}`;
  if (issue.code === "invalid_union" && "options" in issue && Array.isArray(issue.options)) {
    return `expected ${issue.options.map(String).join(" or ")}`;
  }
  const text = issue.message.replace(/^Invalid (input|string|option): /, "");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const LONGEST_SHOWN = 60;

function shownValue(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value);
  }
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "keys and values" : String(value);
}
