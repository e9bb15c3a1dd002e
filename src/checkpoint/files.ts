import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../core/errors.ts";
import { sha256File } from "../core/hash.ts";
import type { ArtifactStore } from "../launch/index.ts";

/** Where the files of checkpoints lie: a folder of this disk, or a run's folder on another machine or in a bucket. */
export type CheckpointFiles = Pick<ArtifactStore, "list" | "read" | "digest">;

/** A folder of this disk. Reading a file that is not there is UserError `ARTIFACT_MISSING`. */
export const folderFiles = (root: string): CheckpointFiles => ({
  list: async (folder) => {
    const paths = await filesBelow(root, folder);
    const sized = await Promise.all(
      paths.map(async (path) => ({ path, bytes: await sizeOf(join(root, path)) })),
    );
    return sized.flatMap(({ path, bytes }) => (bytes === undefined ? [] : [{ path, bytes }]));
  },
  read: async (path, start = 0, end = Number.MAX_SAFE_INTEGER) => {
    const file = await openFile(join(root, path));
    try {
      const length = Math.max(0, Math.min(end, (await file.stat()).size) - start);
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, start);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  },
  digest: async (path) => sha256File(join(root, path)),
});

async function openFile(path: string): ReturnType<typeof open> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    throw new UserError("ARTIFACT_MISSING", `There is no file ${path}`, { cause: error });
  }
}

async function filesBelow(root: string, folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(join(root, folder), { withFileTypes: true });
    const found = await Promise.all(
      entries.map(async (entry) => {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        return entry.isDirectory() ? filesBelow(root, path) : [path];
      }),
    );
    return found.flat();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
