import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import type { DialogueKind, RoleEntry } from "../schema.ts";
import { compare, nfc } from "../text.ts";
import type { Found } from "./source.ts";

// The same trees were renamed several times upstream; any of the names is taken, but only one at a time.
const EVALUATION_TREES = [".", "SpeechRole-Eval", "benchmark"];
const TRAINING_TREES = [".", "create_multiturn_data"];

/** One file of dialogues: all of one role, kind and pool. */
export interface DialogueFile {
  readonly stem: string;
  readonly kind: DialogueKind;
  readonly pool: Found["pool"];
  /** Relative to the source folder, with forward slashes. */
  readonly file: string;
}

export interface RoleFile extends DialogueFile {
  readonly role: RoleEntry;
}

export interface DialogueTree {
  /** In the order of their names. */
  readonly files: readonly DialogueFile[];
  /** Folders that paths in the JSON may be relative to, beside the source folder. */
  readonly bases: readonly string[];
}

export interface ReleaseTree {
  readonly files: readonly RoleFile[];
  readonly strangers: readonly string[];
  readonly bases: readonly string[];
}

/** Finds the files of dialogues of a released corpus, under any name its trees had. UserError `SOURCE_AMBIGUOUS`. */
export const findDialogueFiles = async (folder: string): Promise<DialogueTree> => {
  const evaluation = await onlyTree(folder, EVALUATION_TREES, "test_data");
  const training = await onlyTree(folder, TRAINING_TREES, "train");
  const pools = (["single", "multi"] as const).flatMap((kind) => [
    { pool: "train" as const, kind, under: join(training, "train", kind) },
    { pool: "test" as const, kind, under: join(evaluation, "test_data", `${kind}_turn`) },
  ]);
  const files: DialogueFile[] = [];
  for (const { pool, kind, under } of pools)
    for (const name of await jsonFiles(join(folder, under)))
      files.push({ stem: nfc(name.slice(0, -".json".length)), kind, pool, file: `${under}/${name}` });
  const bases = [evaluation, training].filter((tree) => tree !== ".").map((tree) => join(folder, tree));
  return { files: files.toSorted((a, b) => compare(a.file, b.file)), bases };
};

/**
 * The role files of a released corpus. Files of roles in `left out` are neither read nor strangers. UserErrors
 * `SOURCE_MISSING` when the folder has none, `SOURCE_AMBIGUOUS` when it has two copies of a tree.
 */
export const findRoleFiles = async (
  folder: string,
  roles: readonly RoleEntry[],
  leftOut: ReadonlySet<string>,
): Promise<ReleaseTree> => {
  const { files: found, bases } = await findDialogueFiles(folder);
  const byStem = new Map(roles.map((role) => [role.stem, role]));
  const files: RoleFile[] = [];
  const strangers: string[] = [];
  for (const file of found) {
    const role = byStem.get(file.stem);
    if (role) files.push({ ...file, role });
    else if (!leftOut.has(file.stem)) strangers.push(file.file);
  }
  if (files.length === 0)
    throw new UserError("SOURCE_MISSING", `${folder} holds no dialogues of the roles in its manifest`, {
      hint: "expected train/{single,multi}/ROLE.json and test_data/{single,multi}_turn/ROLE.json",
    });
  return { files, strangers, bases };
};

// Two copies of a tree, of two generations perhaps, would put every session into the data set twice, or the wrong one.
async function onlyTree(folder: string, trees: readonly string[], inside: string): Promise<string> {
  const found: string[] = [];
  for (const tree of trees) if (await exists(join(folder, tree, inside))) found.push(tree);
  if (found.length > 1)
    throw new UserError(
      "SOURCE_AMBIGUOUS",
      `${folder} has ${found.map((tree) => join(tree, inside)).join(" and ")}`,
      { hint: "they are copies of one tree, perhaps of different generations: keep the one that is meant" },
    );
  return found[0] ?? ".";
}

async function jsonFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(".json") && !name.startsWith("."));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}
