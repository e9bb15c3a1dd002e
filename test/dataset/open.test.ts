import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFlac } from "../../src/audio/index.ts";
import {
  openDataset,
  packDataset,
  packedFolder,
  SPLITS,
  wavClip,
  type OpenDataset,
} from "../../src/dataset/index.ts";
import { openShardPool } from "../../src/dataset/shard-pool.ts";
import { projectWith, toneClip } from "./corpus.ts";

const idsOf = async (dataset: OpenDataset, split: (typeof SPLITS)[number]): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id } of dataset.texts(split)) ids.push(id);
  return ids;
};
const openFiles = async (): Promise<number> => (await readdir("/proc/self/fd")).length;

describe("an open data set", () => {
  it("gives every dialogue of every split by id, and its split", async () => {
    const project = await projectWith((corpus) => (corpus.spec["shards"] = { shardBytes: 5_000 }));
    await packDataset({ project, name: "small" });
    const dataset = await openDataset(project, "small");
    for (const split of SPLITS)
      for (const id of await idsOf(dataset, split)) {
        expect((await dataset.dialogue(id)).id).toBe(id);
        expect(await dataset.splitOf(id)).toBe(split);
      }
    expect(await dataset.splitOf("nobody")).toBeUndefined();
    await expect(dataset.dialogue("nobody")).rejects.toMatchObject({ code: "DIALOGUE_UNKNOWN" });
    const [id = ""] = await idsOf(dataset, "dev");
    await expect(dataset.audio(id, 9, "user")).rejects.toMatchObject({ code: "TURN_UNKNOWN" });
    await dataset.close();
  });

  it("finds test dialogues without the training shards, and goes on when a missing shard is back", async () => {
    const project = await projectWith();
    const { lock } = await packDataset({ project, name: "small" });
    const train = join(packedFolder(project, "small"), lock.splits.train.shards[0]?.path ?? "");
    const dataset = await openDataset(project, "small");
    const [test = ""] = await idsOf(dataset, "test");
    const [other = ""] = await idsOf(dataset, "train");
    await dataset.close();
    await rename(train, `${train}.away`);
    const again = await openDataset(project, "small");
    expect((await again.dialogue(test)).id).toBe(test);
    await expect(again.dialogue(other)).rejects.toMatchObject({ code: "SHARD_MISSING" });
    await rename(`${train}.away`, train);
    expect((await again.dialogue(other)).id).toBe(other);
    await again.close();
  });
});

describe("a pool of shards", () => {
  it("keeps few files open, and none that is closed under a reader", async () => {
    const project = await projectWith((corpus) => (corpus.spec["shards"] = { shardBytes: 1 }));
    await packDataset({ project, name: "small" });
    const dataset = await openDataset(project, "small");
    const { shards } = dataset;
    await dataset.close();
    const paths = SPLITS.flatMap((split) => shards[split]);
    expect(paths.length).toBeGreaterThan(20);
    const before = await openFiles();
    const pool = openShardPool(3);
    const reading = Promise.all(paths.map(async (path) => pool.with(path, async (shard) => shard.row(0))));
    expect(new Set((await reading).map(({ id }) => id)).size).toBe(paths.length);
    expect(await openFiles()).toBeLessThanOrEqual(before + 3);
    const ids: string[] = [];
    for await (const row of pool.stream(paths[0] ?? "", (shard) => shard.texts())) {
      for (const path of paths) await pool.with(path, async (shard) => shard.ids());
      ids.push(row.id);
    }
    expect(ids).toHaveLength(1);
    await pool.close();
    expect(await openFiles()).toBe(before);
  });

  it("closes the shard of a stream that was left early", async () => {
    const project = await projectWith();
    await packDataset({ project, name: "small" });
    const before = await openFiles();
    const dataset = await openDataset(project, "small");
    for await (const { id } of dataset.texts("train")) {
      expect(id).not.toBe("");
      break;
    }
    await dataset.close();
    expect(await openFiles()).toBe(before);
  });

  it("asks again for a shard that could not be opened", async () => {
    const project = await projectWith();
    await packDataset({ project, name: "small" });
    const dataset = await openDataset(project, "small");
    const { shards } = dataset;
    await dataset.close();
    const path = shards.dev[0] ?? "";
    const pool = openShardPool();
    await rename(path, `${path}.away`);
    await expect(pool.with(path, async (shard) => shard.ids())).rejects.toMatchObject({
      code: "SHARD_MISSING",
    });
    await rename(`${path}.away`, path);
    expect(await pool.with(path, async (shard) => shard.ids())).toHaveLength(2);
    await pool.close();
    await rm(path);
    await expect(pool.with(path, async (shard) => shard.ids())).rejects.toMatchObject({
      code: "SHARD_MISSING",
    });
  });
});

describe("a clip for a player", () => {
  it("is the WAV itself, or the samples of the FLAC in one", async () => {
    const wav = toneClip(3);
    const stored = { bytes: wav, path: "a.wav" };
    expect(await wavClip(stored)).toBe(stored);
    const flac = (await openFlac()).encode(new Int16Array(new Uint8Array(wav).buffer, 44), 16_000);
    expect(await wavClip({ bytes: flac, path: "a.flac" })).toEqual({ bytes: wav, path: "a.wav" });
    await expect(wavClip({ bytes: flac.subarray(0, 60), path: "a.flac" })).rejects.toMatchObject({
      code: "CLIP_BAD",
      message: expect.stringContaining("a.flac cannot be decoded: "),
    });
  });
});
