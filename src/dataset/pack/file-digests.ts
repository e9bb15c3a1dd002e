import { stat } from "node:fs/promises";
import { z } from "zod";
import { systemCode } from "../../core/errors.ts";
import { readIfExists, writeAtomic } from "../../core/files.ts";
import { sha256File } from "../../core/hash.ts";

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
