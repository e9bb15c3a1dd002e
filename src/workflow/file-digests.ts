import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readIfExists, writeJson } from "../core/files.ts";
import { sha256File } from "../core/hash.ts";
import type { KnownFile } from "./place.ts";

const Remembered = z.strictObject({
  schemaVersion: z.literal(1),
  files: z.record(
    z.string(),
    z.strictObject({ bytes: z.int().nonnegative(), mtime: z.string(), sha256: z.string() }),
  ),
});
type Remembered = z.infer<typeof Remembered>;

export interface DigestOptions {
  /** Where digests are kept from one time to the next. */
  readonly cache: string;
  readonly signal: AbortSignal;
  /** Told before each file that has to be read. */
  readonly onHash: (file: { readonly path: string; readonly bytes: number }) => void;
}

/**
 * Every file below a folder with its SHA-256, in the order of their paths. A digest is remembered for as long as the file has
 * the same size and time of change (nanoseconds), so that 22 GB of weights are read once. Hidden files and folders do not count.
 */
export const folderDigests = async (
  folder: string,
  { cache, signal, onHash }: DigestOptions,
): Promise<readonly KnownFile[]> => {
  const known = await read(cache);
  const found: KnownFile[] = [];
  for (const path of await filesBelow(folder, "")) {
    const { size, mtimeNs } = await stat(join(folder, path), { bigint: true });
    const bytes = Number(size);
    const mtime = String(mtimeNs);
    const before = known.files[path];
    if (before?.bytes !== bytes || before.mtime !== mtime) {
      signal.throwIfAborted();
      onHash({ path, bytes });
      known.files[path] = { bytes, mtime, sha256: await sha256File(join(folder, path)) };
      // After each file: an interruption costs one of them.
      await writeJson(cache, known);
    }
    found.push({ path, bytes, sha256: known.files[path]?.sha256 ?? "" });
  }
  return found;
};

// Only a memory: one that cannot be read is made anew.
async function read(cache: string): Promise<{ schemaVersion: 1; files: Remembered["files"] }> {
  try {
    const text = await readIfExists(cache);
    if (text !== undefined) return Remembered.parse(JSON.parse(text));
  } catch {
    // Falls through to an empty one.
  }
  return { schemaVersion: 1, files: {} };
}

async function filesBelow(folder: string, below: string): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const paths: string[] = [];
  for (const { name } of entries.filter((entry) => !entry.name.startsWith("."))) {
    const path = below === "" ? name : `${below}/${name}`;
    // Follows links: the hub's own cache is made of them.
    const isFolder = (await stat(join(folder, path))).isDirectory();
    if (isFolder) paths.push(...(await filesBelow(folder, path)));
    else paths.push(path);
  }
  return paths.toSorted((a, b) => (a < b ? -1 : 1));
}
