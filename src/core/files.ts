import { randomBytes } from "node:crypto";
import { access, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { messageOf, systemCode, UserError } from "./errors.ts";
import { prettyIssues } from "./issues.ts";

/**
 * Writes beside the target, fsyncs, renames, fsyncs the folder: a reader sees the old or the new content, never half.
 * Creates missing parent folders. UserError `DISK_FULL`.
 */
export const writeAtomic = async (path: string, data: string | Uint8Array, mode = 0o644): Promise<void> =>
  writeStaged(path, data, { mode, isSynced: true });

/**
 * The same, not synced: quicker, for what only saves work. After a crash of the machine (not of the program) it may be torn,
 * so whoever reads it must notice.
 */
export const writeCache = async (path: string, data: string | Uint8Array): Promise<void> =>
  writeStaged(path, data, { mode: 0o644, isSynced: false });

async function writeStaged(
  path: string,
  data: string | Uint8Array,
  { mode, isSynced }: { readonly mode: number; readonly isSynced: boolean },
): Promise<void> {
  const folder = dirname(path);
  const staged = `${path}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    await mkdir(folder, { recursive: true });
    const file = await open(staged, "wx", mode);
    try {
      await file.writeFile(data);
      if (isSynced) await file.sync();
    } finally {
      await file.close();
    }
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw diskFull(error, path) ?? error;
  }
  if (isSynced) await syncFolder(folder);
}

// A full disk, and a quota that is used up, in words; undefined for anything else.
function diskFull(error: unknown, path: string): UserError | undefined {
  if (!["ENOSPC", "EDQUOT"].includes(systemCode(error) ?? "")) return undefined;
  return new UserError("DISK_FULL", `No space left while writing ${path}`, {
    hint: "free some space and run the same command again: nothing that was finished is lost",
    cause: error,
  });
}

/** Makes a rename in `folder` durable. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Pretty JSON with a final newline, written atomically. */
export const writeJson = async (path: string, value: unknown): Promise<void> =>
  writeAtomic(path, `${JSON.stringify(value, null, 2)}\n`);

/** One JSON object per line, appended and fsynced. UserError `DISK_FULL`. */
export const appendJsonLine = async (path: string, value: unknown): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, "a");
  try {
    await file.writeFile(`${JSON.stringify(value)}\n`);
    await file.sync();
  } catch (error) {
    throw diskFull(error, path) ?? error;
  } finally {
    await file.close();
  }
};

/** True when the path exists, whatever it is. */
export const exists = async (path: string): Promise<boolean> => {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
};

// No file can have such a path: one below a file, or with a name that no filesystem takes.
const NO_SUCH_FILE = ["ENOENT", "ENOTDIR", "ENAMETOOLONG"];

/** The text of a file, or undefined when there is none. UserError `FILE_IS_FOLDER`; other failures are thrown. */
export const readIfExists = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = systemCode(error) ?? "";
    if (NO_SUCH_FILE.includes(code)) return undefined;
    if (code === "EISDIR") throw new UserError("FILE_IS_FOLDER", `${path} is a folder; a file was expected`);
    throw error;
  }
};

/** A JSON file through a schema. UserError `FILE_MISSING`, `JSON_INVALID` or `FILE_INVALID` names path and place. */
export const readJson = async <Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> => {
  const text = await readIfExists(path);
  if (text === undefined) throw new UserError("FILE_MISSING", `There is no file ${path}`);
  return parseJson(text, schema, path);
};

/** JSON text through a schema; `source` names it in the error. UserErrors `JSON_INVALID`, `FILE_INVALID`. */
export const parseJson = <Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  source: string,
): z.output<Schema> => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UserError("JSON_INVALID", `${source} is not valid JSON: ${messageOf(error)}`, { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new UserError(
      "FILE_INVALID",
      `${source} is not what was expected:\n${prettyIssues(parsed.error, value)}`,
    );
  }
  return parsed.data;
};

/**
 * The complete lines of a JSON Lines file through a schema. A torn last line (a killed writer) is left out and counted;
 * an unreadable line before it is an error.
 */
export const readJsonLines = async <Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<{ readonly rows: z.output<Schema>[]; readonly torn: number }> => {
  const text = (await readIfExists(path)) ?? "";
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  const rows = lines
    .filter((line) => line.trim() !== "")
    .map((line, index) => parseJson(line, schema, `${path}:${index + 1}`));
  return { rows, torn: last.trim() === "" ? 0 : 1 };
};
