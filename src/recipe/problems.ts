import type { z } from "zod";
import { issueText, pathText } from "../core/issues.ts";
import type { Problem } from "../core/read-yaml.ts";
import { knownKeys, schemasAt } from "./known-paths.ts";
import { placeOf, valueAt, type Layer, type Path, type Tree } from "./layers.ts";
import { didYouMean } from "../core/near-matches.ts";

type Issue = z.core.$ZodIssue;

/** Every issue of the merged recipe with the place where its value is written, in a parent file if need be. */
export const problemsIn = (issues: readonly Issue[], merged: Tree, layers: readonly Layer[]): Problem[] =>
  issues.flatMap((issue) => problemsOfIssue(issue, [], merged, layers));

/** A problem at a path of the merged recipe. */
export const problemAt = (path: Path, message: string, layers: readonly Layer[]): Problem => ({
  path: pathText(path),
  message,
  place: placeOf(layers, path),
});

function problemsOfIssue(issue: Issue, prefix: Path, merged: Tree, layers: readonly Layer[]): Problem[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => unknownKey([...path, key], layers));
  }
  if (issue.code === "invalid_union" && !("discriminator" in issue && issue.discriminator)) {
    return problemsOfUnion(issue, path, merged, layers);
  }
  return [problemAt(path, issueText(issue, valueAt(merged, path)), layers)];
}

function unknownKey(path: Path, layers: readonly Layer[]): Problem {
  const key = String(path.at(-1));
  return problemAt(path, `unknown key${didYouMean(key, knownKeys(path.slice(0, -1)))}`, layers);
}

// Zod says "Invalid input" for a union. One alternative usually fits but for a value; else name the alternatives.
function problemsOfUnion(
  issue: Extract<Issue, { code: "invalid_union" }>,
  path: Path,
  merged: Tree,
  layers: readonly Layer[],
): Problem[] {
  const fitting = issue.errors.find((errors) =>
    errors.every((inner) => inner.code !== "unrecognized_keys" && inner.path.length > 0),
  );
  if (fitting) return fitting.flatMap((inner) => problemsOfIssue(inner, path, merged, layers));
  const keys = knownKeys(path);
  if (keys.length === 0) return [problemAt(path, `expected ${literalsAt(path).join(" or ")}`, layers)];
  const value = valueAt(merged, path);
  const unknown = Object.keys(typeof value === "object" && value !== null ? value : {}).filter(
    (key) => !keys.includes(key),
  );
  if (unknown.length > 0) return unknown.map((key) => unknownKey([...path, key], layers));
  return [problemAt(path, `give exactly one of ${keys.join(", ")}`, layers)];
}

function literalsAt(path: Path): string[] {
  return schemasAt(path).flatMap((schema) =>
    "values" in schema && schema.values instanceof Set ? [...schema.values].map(String) : [],
  );
}
