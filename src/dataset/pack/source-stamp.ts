import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import { compare } from "../text.ts";

/**
 * Digest over path, size and time of all files below a folder (or of the one file): another digest means that the source
 * may have changed. Contents are not read: hundreds of gigabytes are, later, by those who pack them. Hidden files and
 * folders do not count. UserError `SOURCE_UNREADABLE`.
 */
export const sourceStamp = async (path: string, signal?: AbortSignal): Promise<string> => {
  try {
    const lines: string[] = [];
    for (const file of await filesBelow(path, new Set())) {
      signal?.throwIfAborted();
      const found = await stampOf(file);
      if (found !== undefined) lines.push(`${relative(path, file).split(sep).join("/")} ${found}`);
    }
    return sha256(lines.toSorted(compare).join("\n"));
  } catch (error) {
    if (systemCode(error) === undefined || signal?.aborted) throw error;
    throw new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
};

// Links are followed, since large corpora are linked in from other disks; a folder is walked once.
async function filesBelow(path: string, visited: Set<string>): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const folder = await realpath(path);
  if (visited.has(folder)) return [];
  visited.add(folder);
  const files: string[] = [];
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const inner = join(path, entry.name);
    const isFolder = entry.isSymbolicLink() ? await leadsToFolder(inner) : entry.isDirectory();
    if (isFolder) files.push(...(await filesBelow(inner, visited)));
    else files.push(inner);
  }
  return files;
}

async function leadsToFolder(link: string): Promise<boolean> {
  return (await unlessMissing(async () => stat(link)))?.isDirectory() ?? false;
}

async function stampOf(path: string): Promise<string | undefined> {
  const found = await unlessMissing(async () => stat(path, { bigint: true }));
  return found && `${found.size} ${found.mtimeNs}`;
}

async function unlessMissing<Value>(look: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await look();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
