import { resolve } from "node:path";
import { canonicalJson } from "../core/hash.ts";
import { ProblemsError, type Problem } from "../core/read-yaml.ts";
import { crossProblems } from "./cross-checks.ts";
import { DEFAULTS, defaultFor } from "./defaults.ts";
import {
  layerOf,
  leavesOf,
  mergeLayers,
  placeOf,
  treeWith,
  valueAt,
  type Layer,
  type Path,
} from "./layers.ts";
import { readOverrides } from "./overrides.ts";
import { PAPER } from "./paper.ts";
import { problemsIn } from "./problems.ts";
import { readChain, shownPath } from "./read-chain.ts";
import { Recipe, type Origin } from "./schema.ts";

/** One value of a recipe and where it comes from. */
export interface RecipeValue {
  /** e.g. `training.lora.rank` */
  readonly path: string;
  readonly value: unknown;
  readonly origin: Origin;
  /** `file:line:column` or `--set path`; null for a built-in value. */
  readonly place: string | null;
  /** Why a built-in value is what it is; null for a written one. */
  readonly why: string | null;
}

/** A valid recipe after `extends`, built-in values and `--set`. */
export interface LoadedRecipe {
  /** Absolute path. */
  readonly file: string;
  /** The file and those it extends, as shown to people. */
  readonly files: readonly string[];
  readonly recipe: Recipe;
  /** Every single value, in the order of the schema. */
  readonly values: readonly RecipeValue[];
  /** `file:line:column` of a value or its nearest parent. */
  place(path: Path): string;
}

export interface LoadRecipeOptions {
  /** Path of the recipe, absolute or relative to `folder`. */
  readonly file: string;
  /** Folder that paths in messages are relative to: where the person stands. */
  readonly folder: string;
  /** `--set` texts: `training.seed=7`. */
  readonly set?: readonly string[];
}

/**
 * Reads a recipe. Errors: `FILE_MISSING`, `EXTENDS_CYCLE`, or `RECIPE_INVALID`, a ProblemsError with every problem of
 * the file, the files it extends and the overrides.
 */
export const loadRecipe = async (options: LoadRecipeOptions): Promise<LoadedRecipe> => {
  const file = resolve(options.folder, options.file);
  const chain = await readChain(file, options.folder);
  const overrides = readOverrides(options.set ?? []);
  const layers: Layer[] = [...DEFAULT_LAYERS, ...chain.layers, ...overrides.layers];
  const merged = mergeLayers(layers);
  const parsed = Recipe.safeParse(merged);
  const unreadable = chain.layers.length < chain.files.length || chain.problems.length > 0;
  const problems = [
    ...chain.problems,
    ...overrides.problems,
    ...(parsed.success ? [] : problemsIn(parsed.error.issues, merged, layers)).filter(
      // What a file that could not be read would have said is not missing from this one.
      ({ message }) => !unreadable || !message.startsWith("missing"),
    ),
    ...crossProblems(merged, layers),
  ];
  if (!parsed.success || problems.length > 0) {
    const shown = shownPath(file, options.folder);
    throw new ProblemsError(
      "RECIPE_INVALID",
      `${shown} has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:`,
      inOrder(problems),
    );
  }
  return {
    file,
    files: chain.files,
    recipe: parsed.data,
    values: leavesOf(parsed.data).map((path) => traced(path, parsed.data, layers)),
    place: (path) => placeOf(layers, path),
  };
};

const DEFAULT_LAYERS: readonly Layer[] = DEFAULTS.map(({ path, value }) => ({
  kind: "default",
  value: treeWith(path.split("."), value),
  place: () => "(built in)",
}));

function traced(path: Path, recipe: Recipe, layers: readonly Layer[]): RecipeValue {
  const dotted = path.join(".");
  const value = valueAt(recipe, path);
  const kind = layerOf(layers, path)?.kind ?? "default";
  const published = dotted in PAPER && canonicalJson(PAPER[dotted]) === canonicalJson(value);
  return {
    path: dotted,
    value,
    origin: originOf(kind, published),
    place: kind === "default" ? null : placeOf(layers, path),
    why: kind === "default" ? (defaultFor(dotted)?.why ?? null) : null,
  };
}

// A flag stays a flag even when it repeats the published value: someone typed it for this one run.
function originOf(kind: Layer["kind"], published: boolean): Origin {
  if (kind === "flag") return "flag";
  if (published) return "paper";
  return kind === "default" ? "ours" : "file";
}

// Problems of one file stand together and run downwards, as a reader fixes them.
function inOrder(problems: readonly Problem[]): Problem[] {
  const files = [...new Set(problems.map(({ place }) => fileOf(place)))];
  return problems.toSorted(
    (a, b) => files.indexOf(fileOf(a.place)) - files.indexOf(fileOf(b.place)) || lineOf(a) - lineOf(b),
  );
}

function fileOf(place: string): string {
  return place.replace(/(:\d+:\d+)$/, "");
}

function lineOf({ place }: Problem): number {
  const [, line = "0", column = "0"] = /:(\d+):(\d+)$/.exec(place) ?? [];
  return Number(line) * 10_000 + Number(column);
}
