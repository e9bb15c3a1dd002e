import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { exists } from "../../src/core/files.ts";
import type { Project } from "../../src/core/project.ts";
import { lockFile, packDataset, packedFolder, verifyDataset } from "../../src/dataset/index.ts";
import { projectWith, type Corpus } from "./corpus.ts";

const root = resolve(import.meta.dirname, "../..");

// Packs in a process of its own, which says where it is and then stands still until it is killed.
const CHILD = `
const { packDataset } = await import("./dist/dataset/index.js");
const { projectAt } = await import("./dist/core/project.js");
const [folder, phase, stop] = process.argv.slice(1);
const stand = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
await packDataset({
  project: projectAt(folder),
  name: "small",
  onProgress: (at) => {
    if (at.phase !== phase || at.done < Number(stop)) return;
    process.stdout._handle.setBlocking?.(true);
    process.stdout.write("standing\\n");
    stand();
  },
});
process.stdout.write("finished\\n");
`;

const killedAt = async (project: Project, phase: string, done: number): Promise<string | undefined> => {
  const args = ["--input-type=module", "--eval", CHILD, project.root, phase, String(done)];
  const child = spawn(execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), ended.then(() => [])]);
  child.kill("SIGKILL");
  await ended;
  return typeof line === "string" ? line : undefined;
};

// Several shards a split, so that a kill lands between shards and inside one.
const severalShards = (corpus: Corpus): void => {
  corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000 };
};

describe("a pack that is killed", () => {
  it.each([
    ["while it checks", "check", 9, 0],
    ["between two shards", "write", 3, 1],
    ["in the middle of a shard", "write", 8, 1],
  ])("%s leaves no lock, and goes on after its finished shards", async (_, phase, done, leastReused) => {
    const project = await projectWith(severalShards);
    expect(await killedAt(project, phase, done)).toBe("standing");
    expect(await exists(lockFile(project, "small"))).toBe(false);
    const finished = await readdir(join(packedFolder(project, "small"), "data")).catch(() => []);
    const complete = finished.filter((name) => name.endsWith(".parquet")).length;
    const { lock, shardsReused } = await packDataset({ project, name: "small" });
    expect(shardsReused).toBeGreaterThanOrEqual(leastReused);
    expect(shardsReused).toBeLessThanOrEqual(complete);
    expect(await verifyDataset(project, "small")).toEqual(lock);
    const untouched = await projectWith(severalShards);
    expect((await packDataset({ project: untouched, name: "small" })).lock).toEqual(lock);
  });
});
