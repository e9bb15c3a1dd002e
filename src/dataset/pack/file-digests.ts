import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { readIfExists, writeAtomic } from "../../core/files.ts";
import { sha256, sha256File } from "../../core/hash.ts";
import { compare } from "../text.ts";

export interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

/** SHA-256 of files, remembered as long as size, times and inode of a file stay the same. */
export interface FileDigests {
  /** Digest of a file, or undefined when there is none. */
  of(path: string): Promise<FileDigest | undefined>;
  /** Whether `of` will answer without reading the file. */
  isKnown(path: string): Promise<boolean>;
  /** Keeps what was used since the opening; entries of files that nobody asked for are forgotten. */
  save(): Promise<void>;
}

const Stored = z.record(
  z.string(),
  z.strictObject({ stamp: z.string(), bytes: z.int(), sha256: z.string(), changedNs: z.string() }),
);
type Stored = z.infer<typeof Stored>;

// A file changed this shortly before the cache was written may change again without its times moving.
const RACY_NS = 1_000_000_000n;

/** Opens the cache; an unreadable one counts as empty, since it only saves time. */
export const openFileDigests = async (cacheFile: string): Promise<FileDigests> => {
  const stored = await load(cacheFile);
  const used: Stored = {};
  return {
    of: async (path) => {
      const now = await stampOf(path);
      if (!now) return undefined;
      const known = used[path] ?? stored[path];
      const entry = known?.stamp === now.stamp ? known : { ...now, sha256: await sha256File(path) };
      used[path] = entry;
      return { bytes: entry.bytes, sha256: entry.sha256 };
    },
    isKnown: async (path) => {
      const now = await stampOf(path);
      return now === undefined || (used[path] ?? stored[path])?.stamp === now.stamp;
    },
    save: async () => writeAtomic(cacheFile, JSON.stringify(used)),
  };
};

/**
 * Digest over path, size and content of all files below a folder; hidden files and folders do not count. UserError
 * `SOURCE_UNREADABLE` when one cannot be read.
 */
export const treeDigest = async (
  folder: string,
  digests: FileDigests,
  signal: AbortSignal | undefined,
): Promise<string> => {
  try {
    return await digestTree(folder, digests, signal);
  } catch (error) {
    if (systemCode(error) === undefined || signal?.aborted) throw error;
    throw new UserError("SOURCE_UNREADABLE", `${folder} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
};

async function digestTree(
  folder: string,
  digests: FileDigests,
  signal: AbortSignal | undefined,
): Promise<string> {
  const lines: string[] = [];
  for (const file of await filesBelow(folder, new Set())) {
    signal?.throwIfAborted();
    const digest = await digests.of(file);
    if (digest) lines.push(`${relative(folder, file).split(sep).join("/")} ${digest.bytes} ${digest.sha256}`);
  }
  return sha256(lines.toSorted(compare).join("\n"));
}

// Links are followed, since large corpora are linked in from other disks; a folder is walked once.
async function filesBelow(path: string, visited: Set<string>): Promise<string[]> {
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
  try {
    return (await stat(link)).isDirectory();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function load(cacheFile: string): Promise<Stored> {
  const text = await readIfExists(cacheFile);
  if (text === undefined) return {};
  const { mtimeNs } = await stat(cacheFile, { bigint: true });
  try {
    const entries = Object.entries(Stored.parse(JSON.parse(text)));
    return Object.fromEntries(entries.filter(([, { changedNs }]) => BigInt(changedNs) < mtimeNs - RACY_NS));
  } catch {
    return {};
  }
}

async function stampOf(
  path: string,
): Promise<{ readonly stamp: string; readonly bytes: number; readonly changedNs: string } | undefined> {
  try {
    const { size, mtimeNs, ctimeNs, ino } = await stat(path, { bigint: true });
    const changed = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
    return { stamp: `${size}-${mtimeNs}-${ctimeNs}-${ino}`, bytes: Number(size), changedNs: String(changed) };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
