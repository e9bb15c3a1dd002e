import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../../core/errors.ts";
import { arrayElements } from "../json/elements.ts";
import { parquetFiles } from "../source/parquet-files.ts";
import { RawDialogue } from "../source/release-dialogue.ts";
import { findDialogueFiles } from "../source/release-files.ts";
import { readOrRefuse } from "../source/release.ts";

/**
 * Forms that a corpus comes in; `completions` is text that a model wrote, and `role-files` what an import of it made:
 * neither has audio yet.
 */
export type Form = "speechrole-release" | "manifest" | "parquet" | "completions" | "role-files";

/** The forms that a folder's content has, or a single file. UserErrors `SOURCE_MISSING`, `SOURCE_AMBIGUOUS`. */
export const formsOf = async (path: string): Promise<readonly Form[]> => {
  if (await isFile(path)) return fileForms(path);
  const names = await readdir(path);
  const forms: Form[] = [];
  if ((await findDialogueFiles(path)).files.length > 0) forms.push("speechrole-release");
  if (names.some((name) => isManifest(name) && name !== QUARANTINE)) forms.push("manifest");
  if (await hasParquet(path, forms.length === 0)) forms.push("parquet");
  if (forms.length === 0 && (await hasCompletions(path, names))) forms.push("completions");
  if (forms.length === 0 && (await hasRoleFiles(path, names))) forms.push("role-files");
  return forms;
};

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch (error) {
    if (systemCode(error) !== "ENOENT" && systemCode(error) !== "ENOTDIR") throw error;
    throw new UserError("SOURCE_MISSING", `There is no file or folder ${path}`, {
      hint: "a dataset repository on the Hugging Face Hub is not imported: write a spec with source.format: hub, see datasets/README.md",
    });
  }
}

function fileForms(path: string): readonly Form[] {
  if (isManifest(path)) return ["manifest"];
  if (/\.parquet$/i.test(path)) return ["parquet"];
  throw new UserError("SOURCE_MISSING", `${path} is a file, and neither a manifest nor a table`, {
    hint: "expected a .jsonl, .csv or .parquet file, or the folder of a corpus",
  });
}

/** What an import of completions writes beside its role files. */
export const QUARANTINE = "quarantine.jsonl";

const isManifest = (name: string): boolean => /^[^.].*\.(?:jsonl|ndjson|csv)$/i.test(name);

// A table further down is somebody's by-product where there is another form, and the corpus where there is none.
async function hasParquet(folder: string, anywhere: boolean): Promise<boolean> {
  try {
    const { names } = await parquetFiles(folder);
    return names.some((name) => anywhere || /^(?:data\/)?[^/]+$/.test(name));
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** A file of one completion: {request}_{answer}.json. */
export const COMPLETION = /^(\d+)_(\d+)\.json$/;

async function hasCompletions(folder: string, names: readonly string[]): Promise<boolean> {
  for (const name of names.slice(0, 20))
    if ((await readdir(join(folder, name)).catch(() => [])).some((inner) => COMPLETION.test(inner)))
      return true;
  return false;
}

const LOOKED_AT = 5;

// ROLE.json with a list of dialogues, which lies in no folder that would say their kind and pool.
async function hasRoleFiles(folder: string, names: readonly string[]): Promise<boolean> {
  const json = names.filter((name) => /^[^.].*\.json$/.test(name) && name !== "report.json");
  for (const name of json.slice(0, LOOKED_AT)) if (await beginsWithDialogue(join(folder, name))) return true;
  return false;
}

async function beginsWithDialogue(path: string): Promise<boolean> {
  try {
    for await (const { bytes, start } of arrayElements(path)) {
      const read = readOrRefuse(bytes, start, (value) => ({ value }));
      return "value" in read && RawDialogue.safeParse(read.value).success;
    }
  } catch {
    // Any other file of JSON, or none.
  }
  return false;
}
