import { execFileSync } from "node:child_process";
import { readFile, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Project } from "../../src/core/project.ts";
import { lockFile, packDataset, packedFolder, verifyDataset } from "../../src/dataset/index.ts";
import {
  makeCorpus,
  makeProject,
  projectWith,
  toneClip,
  turnAt,
  writeCorpus,
  type Corpus,
} from "./corpus.ts";
import { removeFolder } from "../support/remove-folder.ts";

const pack = async (project: Project): ReturnType<typeof packDataset> =>
  packDataset({ project, name: "small" });
const shardPath = (project: Project, split: string): string =>
  join(packedFolder(project, "small"), "data", `${split}-00000-of-00001.parquet`);

/** Every byte that packing leaves: shards and lock. */
const outcome = async (project: Project): Promise<Record<string, string>> => {
  const folder = join(packedFolder(project, "small"), "data");
  const files: Record<string, string> = { lock: await readFile(lockFile(project, "small"), "utf8") };
  for (const name of (await readdir(folder)).toSorted())
    files[name] = (await readFile(join(folder, name))).toString("base64");
  return files;
};

const shuffled = <Item>(items: readonly Item[], seed: number): Item[] =>
  items
    .map((item, index) => ({ item, rank: Math.sin(seed * 1_000 + index * 77.7) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);

describe("the same source", () => {
  it("in any order gives the same bytes, drops included", async () => {
    const spoil = (corpus: Corpus): void => {
      corpus.files.set("train/single_speech/Thor/1_0_user.wav", "not audio at all");
      turnAt(corpus, "train/single/hutao.json", { dialogue: 2, turn: 0 }).role = "";
      const twin = turnAt(corpus, "train/multi/Prof. G.H. Dorr.json", { dialogue: 0, turn: 0 });
      corpus.dialogues
        .get("train/single/Prof. G.H. Dorr.json")
        ?.push({ dialogue: [{ ...twin }] }, { dialogue: [{ ...twin }] });
    };
    const first = await projectWith(spoil);
    const { lock } = await pack(first);
    expect(lock.drops.byReason).toEqual({ audio_not_wav: 1, duplicate: 1, text_empty: 1 });
    for (const seed of [1, 2]) {
      const corpus = makeCorpus();
      spoil(corpus);
      corpus.roles = shuffled(corpus.roles, seed);
      corpus.dialogues = new Map(
        shuffled([...corpus.dialogues], seed).map(([path, list]) => [
          path,
          shuffled(list, seed + path.length),
        ]),
      );
      const other = await makeProject();
      await writeCorpus(other, corpus);
      await pack(other);
      expect(await outcome(other)).toEqual(await outcome(first));
    }
  });

  it("gives other rows in dev and another order with another seed", async () => {
    const first = await projectWith();
    const other = await projectWith((corpus) => Object.assign(corpus.spec["splits"] ?? {}, { seed: 8 }));
    await pack(first);
    await pack(other);
    expect((await outcome(other))["test-00000-of-00001.parquet"]).not.toBe(
      (await outcome(first))["test-00000-of-00001.parquet"],
    );
  });
});

describe("packing again", () => {
  it("does nothing when nothing changed, and the same from nothing", async () => {
    const project = await projectWith();
    expect(await pack(project)).toMatchObject({ reused: false, lockChanged: false, shardsReused: 0 });
    const before = await outcome(project);
    const { mtimeMs } = await stat(shardPath(project, "train"));
    expect(await pack(project)).toMatchObject({ reused: true, lockChanged: false });
    expect((await stat(shardPath(project, "train"))).mtimeMs).toBe(mtimeMs);
    await rm(packedFolder(project, "small"), { recursive: true });
    removeFolder(project.state);
    expect(await pack(project)).toMatchObject({ reused: false, lockChanged: false, shardsReused: 0 });
    expect(await outcome(project)).toEqual(before);
  });

  it("notices a clip that changed without changing size, and its time by less than a millisecond", async () => {
    const project = await projectWith();
    const { lock } = await pack(project);
    const clip = join(project.datasets, "small", "train/single_speech/Thor/0_0_user.wav");
    const { atime, mtime } = await stat(clip);
    await writeFile(clip, toneClip(999));
    await utimes(clip, atime, mtime);
    const again = await pack(project);
    expect(again).toMatchObject({ reused: false, lockChanged: true });
    expect(again.shardsReused).toBe(3);
    expect(again.lock.splits.ood).toEqual(lock.splits.ood);
  });

  it("notices a clip that has size and time of the one before to the nanosecond", async () => {
    const project = await projectWith();
    const { lock } = await pack(project);
    const clip = join(project.datasets, "small", "train/single_speech/Thor/0_0_user.wav");
    const aside = join(project.root, "aside.wav");
    await rename(clip, aside);
    await writeFile(clip, toneClip(999));
    execFileSync("touch", ["-r", aside, clip]);
    expect((await stat(clip, { bigint: true })).mtimeNs).toBe((await stat(aside, { bigint: true })).mtimeNs);
    const again = await pack(project);
    expect(again).toMatchObject({ reused: false, lockChanged: true });
    expect(again.lock.splits.train).not.toEqual(lock.splits.train);
    // What was learnt of it before is not believed either, whatever else makes the pack look again.
    execFileSync("touch", ["-c", "-a", clip]);
    expect((await pack(project)).lock).toEqual(again.lock);
  });

  it("writes only the shards whose rows changed, and removes those of an earlier plan", async () => {
    const project = await projectWith();
    await pack(project);
    const corpus = makeCorpus();
    corpus.spec["shards"] = { shardBytes: 4_000 };
    await writeCorpus(project, corpus);
    const { lock } = await pack(project);
    expect(lock.splits.test.shards.length).toBeGreaterThan(2);
    expect(lock.splits.test.shards.reduce((sum, { rows }) => sum + rows, 0)).toBe(12);
    const names = await readdir(join(packedFolder(project, "small"), "data"));
    const locked = Object.values(lock.splits).flatMap(({ shards }) =>
      shards.map(({ path }) => path.slice(5)),
    );
    expect(names.toSorted()).toEqual(locked.toSorted());
  });

  it("takes the names of a role from the manifest, shards included", async () => {
    const project = await projectWith();
    await pack(project);
    const corpus = makeCorpus();
    const [thor] = corpus.roles;
    if (thor) thor.displayName = "Thor Odinson";
    await writeCorpus(project, corpus);
    const { lock, shardsReused } = await pack(project);
    expect(shardsReused).toBe(1);
    expect(lock.roles.map(({ name }) => name)).toContain("Thor Odinson");
    await verifyDataset(project, "small");
  });

  it("ends on an aborted signal and keeps the finished shards", async () => {
    const project = await projectWith();
    const controller = new AbortController();
    const onProgress = ({ phase, done }: { phase: string; done: number }): void => {
      if (phase === "write" && done === 12) controller.abort(new Error("enough"));
    };
    const options = { project, name: "small", onProgress, signal: controller.signal };
    await expect(packDataset(options)).rejects.toThrow("enough");
    const { shardsReused } = await pack(project);
    expect(shardsReused).toBeGreaterThan(0);
    await verifyDataset(project, "small");
  });
});

describe("verifyDataset", () => {
  it("lists every shard that is not what the lock says", async () => {
    const project = await projectWith();
    await pack(project);
    expect((await verifyDataset(project, "small")).name).toBe("small");
    const edited = await readFile(shardPath(project, "train"));
    edited[2_000] = (edited[2_000] ?? 0) ^ 1;
    await writeFile(shardPath(project, "train"), edited);
    await writeFile(shardPath(project, "dev"), "PAR1");
    await rm(shardPath(project, "ood"));
    await writeFile(join(packedFolder(project, "small"), "data", "train-00007-of-00009.parquet"), "PAR1");
    const error: unknown = await verifyDataset(project, "small").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "SHARD_CHANGED" });
    expect(String(error)).toMatch(
      /data\/train-00000-of-00001.parquet has SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}/,
    );
    expect(String(error)).toMatch(/data\/dev-00000-of-00001.parquet has 4 bytes, not \d+/);
    expect(String(error)).toContain("data/ood-00000-of-00001.parquet is not there");
    expect(String(error)).toContain("data/train-00007-of-00009.parquet is not in the lock");
    // Packing puts it right, from the source.
    expect(await pack(project)).toMatchObject({ reused: false, lockChanged: false, shardsReused: 1 });
    await verifyDataset(project, "small");
  });

  it("reads a shard once, then trusts it as it is; asked for all, it reads all", async () => {
    const project = await projectWith();
    await pack(project);
    const read = async (options: { readonly full?: boolean } = {}): Promise<readonly string[]> => {
      const paths: string[] = [];
      await verifyDataset(project, "small", { ...options, onHash: ({ path }) => paths.push(path) });
      return paths;
    };
    const all = (await read()).length;
    expect(all).toBeGreaterThan(3);
    // What was written in the same second could be written again without its times moving: read once more.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await read();
    expect(await read()).toEqual([]);
    expect(await read({ full: true })).toHaveLength(all);
    expect(await read()).toEqual([]);

    // The very same bytes under another inode, or at another time, are read again.
    const train = shardPath(project, "train");
    await writeFile(`${train}.copy`, await readFile(train));
    await rename(`${train}.copy`, train);
    expect(await read()).toEqual(["data/train-00000-of-00001.parquet"]);
    const memory = join(project.state, "datasets/small.shards.json");
    await writeFile(memory, "not JSON");
    expect(await read()).toHaveLength(all);
  });

  it("believes its memory at a start, and not when all is to be read", async () => {
    const project = await projectWith();
    await pack(project);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await verifyDataset(project, "small");
    const memory = join(project.state, "datasets/small.shards.json");
    const text = await readFile(memory, "utf8");
    await writeFile(memory, text.replaceAll(/"sha256":"[0-9a-f]{64}"/g, `"sha256":"${"0".repeat(64)}"`));
    await expect(verifyDataset(project, "small")).rejects.toMatchObject({ code: "SHARD_CHANGED" });
    await verifyDataset(project, "small", { full: true });
    await verifyDataset(project, "small");
  });

  it("says when shards are only missing, or nothing is packed, or nothing is known", async () => {
    const project = await projectWith();
    await expect(verifyDataset(project, "small")).rejects.toMatchObject({ code: "DATASET_NOT_PACKED" });
    await expect(verifyDataset(project, "smal")).rejects.toMatchObject({
      code: "DATASET_UNKNOWN",
      hint: "data sets here: small",
    });
    await pack(project);
    await rm(packedFolder(project, "small"), { recursive: true });
    await expect(verifyDataset(project, "small")).rejects.toMatchObject({ code: "SHARD_MISSING" });
  });
});
