import { parseYaml, ProblemsError, type Problem } from "../core/read-yaml.ts";
import { isKnownPath, knownPaths } from "./known-paths.ts";
import { treeWith, type Layer } from "./layers.ts";
import { didYouMean } from "../core/near-matches.ts";

/** What `--set` options give: one layer each, and what is wrong with them. */
export interface Overrides {
  readonly layers: readonly Layer[];
  readonly problems: readonly Problem[];
}

/** Reads `a.b=value` texts; values have YAML's types, so `--set training.duration.steps=80` is a number. */
export const readOverrides = (texts: readonly string[]): Overrides => {
  const read = texts.map(readOverride);
  return {
    layers: read.flatMap((outcome) => ("layer" in outcome ? [outcome.layer] : [])),
    problems: read.flatMap((outcome) => ("problem" in outcome ? [outcome.problem] : [])),
  };
};

function readOverride(text: string): { layer: Layer } | { problem: Problem } {
  const equals = text.indexOf("=");
  if (equals < 1) {
    return { problem: { place: "--set", path: text, message: "expected path=value, e.g. training.seed=7" } };
  }
  const dotted = text.slice(0, equals).trim();
  const place = `--set ${dotted}`;
  const path = dotted.split(".");
  if (!isKnownPath(path)) {
    const message = `no such setting${didYouMean(dotted, knownPaths())}`;
    return { problem: { place: "--set", path: dotted, message } };
  }
  try {
    const { value } = parseYaml(text.slice(equals + 1), place);
    return { layer: { kind: "flag", value: treeWith(path, value), place: () => place } };
  } catch (error) {
    if (!(error instanceof ProblemsError)) throw error;
    const why = error.problems[0]?.message ?? "";
    return { problem: { place: "--set", path: dotted, message: `not a YAML value: ${why}` } };
  }
}
