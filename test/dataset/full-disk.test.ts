import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exists } from "../../src/core/files.ts";
import type { Project } from "../../src/core/project.ts";
import { lockFile, packDataset, packedFolder } from "../../src/dataset/index.ts";
import { canMount, smallDisk } from "../bad-input/support.ts";
import { projectWith, type Corpus } from "./corpus.ts";

// Enough clips for shards that are large beside what else lies there.
const severalShards = (corpus: Corpus): void => {
  corpus.spec["shards"] = { shardBytes: 24_000, rowGroupBytes: 8_000 };
};
const pack = async (project: Project): ReturnType<typeof packDataset> =>
  packDataset({ project, name: "small" });
const shards = (project: Project): Record<string, Buffer> => {
  const folder = join(packedFolder(project, "small"), "data");
  const names = readdirSync(folder).toSorted();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]));
};
// A disk of memory gives whole pages.
const pages = (bytes: number): number => Math.ceil(bytes / 4_096) * 4_096;
const diskBytes = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + pages(statSync(join(parentPath, name)).size), 0);

describe.skipIf(!canMount)("a disk that is full when a pack is half done", () => {
  it("is told by the file, leaves no lock and no torn shard; with more space the bytes are those of any pack", async () => {
    const untouched = await projectWith(severalShards);
    await pack(untouched);
    const survey = diskBytes(join(packedFolder(untouched, "small"), ".survey"));
    const written = diskBytes(join(packedFolder(untouched, "small"), "data"));

    const project = await projectWith(severalShards);
    const packed = join(project.datasets, "packed");
    const disk = smallDisk(packed, `${Math.ceil((survey + written * 0.6) / 1_024)}k`);
    await expect(pack(project)).rejects.toMatchObject({
      code: "DISK_FULL",
      actor: "user",
      message: expect.stringContaining(`No space left while writing ${packed}`),
      hint: expect.stringContaining("run the same command again"),
    });
    expect(await exists(lockFile(project, "small"))).toBe(false);
    const finished = shards(project);
    expect(Object.keys(finished).length).toBeGreaterThan(0);
    expect(shards(untouched)).toMatchObject(finished);

    disk.grow("16m");
    expect((await pack(project)).shardsReused).toBeGreaterThan(0);
    expect(shards(project)).toEqual(shards(untouched));
    expect(readFileSync(lockFile(project, "small"))).toEqual(readFileSync(lockFile(untouched, "small")));
  });
});
