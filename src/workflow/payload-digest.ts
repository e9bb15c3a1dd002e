import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { digestOf, sha256 } from "../core/hash.ts";

/**
 * Digest over everything that runs on the other machine: the package, its lock files and the wrapper.
 * Tests and caches do not count: they change nothing that a run computes.
 */
export const payloadDigest = async (payload: string): Promise<string> => {
  const files = await filesBelow(payload, payload);
  const entries = await Promise.all(
    files.map(async (path) => [relative(payload, path), sha256(await readFile(path))]),
  );
  return digestOf(entries);
};

const counts = (path: string): boolean =>
  (path.startsWith("understudy_payload") && path.endsWith(".py")) ||
  path.endsWith(".lock") ||
  path === "wrapper.sh";

async function filesBelow(folder: string, root: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory())
        return entry.name.startsWith(".") || entry.name === "tests" ? [] : filesBelow(path, root);
      return counts(relative(root, path)) ? [path] : [];
    }),
  );
  return found.flat().toSorted((a, b) => (a < b ? -1 : 1));
}
