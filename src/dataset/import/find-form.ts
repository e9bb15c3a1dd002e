import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../../core/errors.ts";
import { findDialogueFiles } from "../source/release-files.ts";
import { isManifest } from "./scan-records.ts";

/** Forms that a corpus comes in; `completions` is text that a model wrote, which has no audio yet. */
export type Form = "speechrole-release" | "manifest" | "parquet" | "completions";

/** The forms that a folder's content has. UserErrors `SOURCE_MISSING`, `SOURCE_AMBIGUOUS`. */
export const formsOf = async (folder: string): Promise<readonly Form[]> => {
  const names = await namesIn(folder);
  const forms: Form[] = [];
  if ((await findDialogueFiles(folder)).files.length > 0) forms.push("speechrole-release");
  if (names.some(isManifest)) forms.push("manifest");
  if (await hasParquet(folder)) forms.push("parquet");
  if (forms.length === 0 && (await hasCompletions(folder, names))) forms.push("completions");
  return forms;
};

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" && systemCode(error) !== "ENOTDIR") throw error;
    throw new UserError("SOURCE_MISSING", `There is no folder ${folder}`);
  }
}

async function hasParquet(folder: string): Promise<boolean> {
  for (const under of [".", "data"])
    if ((await readdir(join(folder, under)).catch(() => [])).some((name) => /^[^.].*\.parquet$/.test(name)))
      return true;
  return false;
}

/** A file of one completion: {request}_{answer}.json. */
export const COMPLETION = /^(\d+)_(\d+)\.json$/;

async function hasCompletions(folder: string, names: readonly string[]): Promise<boolean> {
  for (const name of names.slice(0, 20))
    if ((await readdir(join(folder, name)).catch(() => [])).some((inner) => COMPLETION.test(inner)))
      return true;
  return false;
}
