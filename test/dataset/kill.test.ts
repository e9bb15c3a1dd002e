import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { describe, expect, it } from "vitest";
import { exists } from "../../src/core/files.ts";
import type { Project } from "../../src/core/project.ts";
import { lockFile, packDataset, packedFolder, verifyDataset } from "../../src/dataset/index.ts";
import { makeCorpus, projectWith, writeCorpus, type Corpus } from "./corpus.ts";

const root = resolve(import.meta.dirname, "../..");

// Packs in a process that kills itself as soon as it has written so many bytes to files: the last write is done in part.
const CHILD = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const [folder, limit] = process.argv.slice(1);
let left = Number(limit);
const { writeSync } = fs;
fs.writeSync = (file, bytes, offset = 0, length = bytes.length - offset, position = null) => {
  if (file < 3 || length < left) {
    if (file > 2) left -= length;
    return writeSync(file, bytes, offset, length, position);
  }
  writeSync(file, bytes, offset, left, position);
  process.kill(process.pid, "SIGKILL");
};
syncBuiltinESMExports();
const { packDataset } = await import("./dist/dataset/index.js");
const { projectAt } = await import("./dist/core/project.js");
await packDataset({ project: projectAt(folder), name: "small" });
`;

const killedAfter = async (project: Project, bytes: number): Promise<NodeJS.Signals | null> => {
  const child = spawn(execPath, ["--input-type=module", "--eval", CHILD, project.root, String(bytes)], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  await once(child, "exit");
  return child.signalCode;
};

const severalShards = (corpus: Corpus): void => {
  corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000 };
};

/** Every byte that packing leaves for others: shards and lock. */
const outcome = (project: Project): Record<string, string> => {
  const folder = join(packedFolder(project, "small"), "data");
  const files: Record<string, string> = { lock: readFileSync(lockFile(project, "small"), "utf8") };
  for (const name of readdirSync(folder).toSorted())
    if (name.endsWith(".parquet")) files[name] = readFileSync(join(folder, name)).toString("base64");
  return files;
};

describe("a pack that is killed at any byte of its shards", () => {
  it.each([1, 12_345, 70_707])("after %i goes on to the very same bytes", async (bytes) => {
    const project = await projectWith(severalShards);
    // Killed twice, the second time somewhere in what the first had left.
    expect(await killedAfter(project, bytes)).toBe("SIGKILL");
    expect(await exists(lockFile(project, "small"))).toBe(false);
    expect(await killedAfter(project, 777)).toBe("SIGKILL");
    await packDataset({ project, name: "small" });
    const untouched = await projectWith(severalShards);
    await packDataset({ project: untouched, name: "small" });
    expect(outcome(project)).toEqual(outcome(untouched));
  });
});

describe("a pack that another one disturbs", () => {
  it("by replacing a shard writes no lock, and the next one puts it right", async () => {
    const project = await projectWith(severalShards);
    const folder = join(packedFolder(project, "small"), "data");
    const onProgress = ({
      phase,
      done,
      total,
    }: {
      phase: string;
      done: number;
      total: number | null;
    }): void => {
      if (phase !== "write" || done !== total) return;
      const [first] = readdirSync(folder).filter((name) => name.endsWith(".parquet"));
      if (first !== undefined) writeFileSync(join(folder, first), "PAR1");
    };
    await expect(packDataset({ project, name: "small", onProgress })).rejects.toMatchObject({
      code: "PACK_DISTURBED",
      message: expect.stringMatching(/^data\/.*\.parquet was replaced while this data set was being packed$/),
    });
    expect(await exists(lockFile(project, "small"))).toBe(false);
    await packDataset({ project, name: "small" });
    await verifyDataset(project, "small");
  });

  it("with another spec in the middle of it", async () => {
    const project = await projectWith(severalShards);
    let other: Promise<unknown> | undefined;
    const onProgress = ({ phase, done }: { phase: string; done: number }): void => {
      if (phase !== "write" || done < 20 || other) return;
      const corpus = makeCorpus();
      severalShards(corpus);
      Object.assign(corpus.spec["splits"] ?? {}, { seed: 8 });
      other = writeCorpus(project, corpus).then(async () => packDataset({ project, name: "small" }));
    };
    const both = await Promise.allSettled([packDataset({ project, name: "small", onProgress })]);
    await Promise.allSettled([other]);
    // Whatever each of them came to: what is said to be packed is there, and packing again puts the rest right.
    expect(both).toHaveLength(1);
    const { lock } = await packDataset({ project, name: "small" });
    const alone = await projectWith((corpus) => {
      severalShards(corpus);
      Object.assign(corpus.spec["splits"] ?? {}, { seed: 8 });
    });
    expect((await packDataset({ project: alone, name: "small" })).lock).toEqual(lock);
    expect(outcome(project)).toEqual(outcome(alone));
  });
});
