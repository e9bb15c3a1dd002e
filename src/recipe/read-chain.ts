import { readdir } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { UserError } from "../core/errors.ts";
import { readIfExists } from "../core/files.ts";
import { parseYaml, ProblemsError, wholeFileText, type Problem } from "../core/read-yaml.ts";
import { EXTENDS } from "./known-paths.ts";
import { isTree, type Layer, type Tree } from "./layers.ts";

/** A recipe file and the files that it extends. */
export interface Chain {
  /** One layer per file, the furthest parent first. */
  readonly layers: readonly Layer[];
  /** The files as shown to people, the recipe itself first. */
  readonly files: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * Reads a recipe and everything it extends. `folder` is what shown paths are relative to.
 * Errors: `FILE_MISSING`, `EXTENDS_CYCLE`; problems of single files are collected.
 */
export const readChain = async (file: string, folder: string): Promise<Chain> => {
  const layers: Layer[] = [];
  const files: string[] = [];
  const problems: Problem[] = [];
  const seen = new Set<string>();
  let next: { readonly path: string; readonly named: string } | undefined = { path: file, named: "" };
  while (next !== undefined) {
    const { path, named }: { readonly path: string; readonly named: string } = next;
    const shown = shownPath(path, folder);
    if (seen.has(path)) {
      throw new UserError("EXTENDS_CYCLE", `Recipes extend each other: ${[...files, shown].join(" → ")}`, {
        hint: "one of them has to stand on its own",
      });
    }
    seen.add(path);
    const text = await readIfExists(path);
    if (text === undefined) {
      if (named === "") throw await missingRecipe(path, shown, folder);
      problems.push({ place: named, path: EXTENDS, message: `there is no file ${shown}` });
      break;
    }
    files.push(shown);
    const read = readOne(text, shown);
    layers.unshift(...read.layers);
    problems.push(...read.problems);
    next =
      read.parent === undefined
        ? undefined
        : { path: resolve(dirname(path), read.parent.file), named: read.parent.place };
  }
  return { layers, files, problems };
};

/** A path as people read it: relative to where they stand when that is shorter. */
export const shownPath = (path: string, folder: string): string => {
  const shown = relative(folder, path);
  return shown === "" || shown.startsWith("..") || isAbsolute(shown) ? path : shown;
};

const MOST_LISTED = 10;

async function missingRecipe(path: string, shown: string, folder: string): Promise<UserError> {
  const names = await readdir(dirname(path)).catch(() => []);
  const recipes = names.filter((name) => name.endsWith(".yaml")).toSorted();
  const listed = recipes.slice(0, MOST_LISTED).map((name) => shownPath(join(dirname(path), name), folder));
  return new UserError(
    "FILE_MISSING",
    `There is no recipe ${shown}`,
    listed.length === 0 ? {} : { hint: `recipes there: ${listed.join(", ")}` },
  );
}

interface OneFile {
  readonly layers: readonly Layer[];
  readonly problems: readonly Problem[];
  readonly parent?: { readonly file: string; readonly place: string };
}

function readOne(text: string, shown: string): OneFile {
  try {
    const yaml = parseYaml(text, shown);
    const root = yaml.value;
    if (!isTree(root)) {
      const problem = { place: yaml.place([]), path: "(whole file)", message: wholeFileText(root) };
      return { layers: [], problems: [problem] };
    }
    const { [EXTENDS]: parent, ...value } = root;
    const layer: Layer = { kind: "file", value: value satisfies Tree, place: (path) => yaml.place(path) };
    if (parent === undefined) return { layers: [layer], problems: [] };
    const place = yaml.place([EXTENDS]);
    if (typeof parent !== "string") {
      const problem = { place, path: EXTENDS, message: "expected the name of one file beside this one" };
      return { layers: [layer], problems: [problem] };
    }
    return { layers: [layer], problems: [], parent: { file: parent, place } };
  } catch (error) {
    if (error instanceof ProblemsError) return { layers: [], problems: error.problems };
    throw error;
  }
}
