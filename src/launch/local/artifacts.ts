import { copyFile, mkdir, open, readdir, rename, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { RemoteError, systemCode, UserError } from "../../core/errors.ts";
import { sha256File } from "../../core/hash.ts";
import type { ArtifactStore } from "../schema.ts";

/** Files below a run's folder on this disk. Paths are relative to that folder, with forward slashes. */
export const localArtifacts = (root: string): ArtifactStore => ({
  list: async (folder) => {
    const names = await filesBelow(inside(root, folder));
    const entries = await Promise.all(
      names.map(async (path) => ({
        path: relative(root, path).split(sep).join("/"),
        bytes: await size(path),
      })),
    );
    // A file that went away while we looked has no size.
    return entries
      .flatMap(({ path, bytes }) => (bytes === undefined ? [] : [{ path, bytes }]))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  },
  read: async (path, start = 0, end) => {
    try {
      const file = await open(inside(root, path), "r");
      try {
        const length = Math.max(0, Math.min(end ?? Infinity, (await file.stat()).size) - start);
        const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, start);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
      throw missing(path, root, error);
    }
  },
  digest: async (path) => {
    try {
      return await sha256File(inside(root, path));
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
      throw missing(path, root, error);
    }
  },
  download: async (path, to) => {
    await mkdir(dirname(to), { recursive: true });
    try {
      await copyFile(inside(root, path), `${to}.part`);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
      throw missing(path, root, error);
    }
    await rename(`${to}.part`, to);
  },
});

function missing(path: string, root: string, cause: unknown): RemoteError {
  return new RemoteError("ARTIFACT_MISSING", `There is no ${path} in ${root}`, { cause });
}

function inside(root: string, path: string): string {
  const full = resolve(root, path);
  if (full === root || full.startsWith(root + sep)) return full;
  throw new UserError("ARTIFACT_OUTSIDE", `${path} is not below the run's folder ${root}`);
}

async function filesBelow(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

async function size(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
