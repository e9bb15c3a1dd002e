import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { digestOf, sha256 } from "../core/hash.ts";

/**
 * Digest over everything that runs on the other machine: the package, its lock files, the wrapper and the other scripts.
 * Tests and caches do not count: they change nothing that a run computes.
 */
export const payloadDigest = async (payload: string): Promise<string> => {
  const files = await payloadFiles(payload);
  return digestOf(
    await Promise.all(files.map(async (path) => [path, sha256(await readFile(join(payload, path)))])),
  );
};

/** The files that count, relative to the payload's folder, in one order on every machine. */
export const payloadFiles = async (payload: string): Promise<readonly string[]> => {
  const files = await filesBelow(payload);
  return files
    .map((path) => relative(payload, path))
    .filter(counts)
    .toSorted((a, b) => (a < b ? -1 : 1));
};

const counts = (path: string): boolean =>
  (path.startsWith("understudy_payload/") && path.endsWith(".py")) ||
  (path.endsWith(".lock") && path !== "requirements-test.lock") ||
  /^(wrapper\.sh|link\.sh|far\/[^/]+\.(sh|py))$/.test(path);

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) return [path];
      return entry.name.startsWith(".") || entry.name === "tests" ? [] : filesBelow(path);
    }),
  );
  return found.flat();
}
