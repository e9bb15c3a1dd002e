import { expect, it } from "vitest";
import { planShards } from "../../src/dataset/pack/plan-shards.ts";
import { entryOf } from "./entries.ts";

const settings = {
  shards: { shardBytes: 100, rowGroupBytes: 50, footer: "list" },
  audio: { codec: "wav", onBadClip: "drop" },
} as const;
const sized = (...sizes: number[]): ReturnType<typeof entryOf>[] =>
  sizes.map((bytes, index) => entryOf(`${index}`, { bytes }));

it("fills a shard up to its size and no further, and splits no dialogue", () => {
  const splits = { train: sized(60, 40, 1, 99, 100, 250, 3), dev: [], ood: sized(7), test: [] };
  expect(
    planShards(splits, [], settings).map(({ path, bytes, entries }) => [path, bytes, entries.length]),
  ).toEqual([
    ["data/train-00000-of-00005.parquet", 100, 2],
    ["data/train-00001-of-00005.parquet", 100, 2],
    ["data/train-00002-of-00005.parquet", 100, 1],
    ["data/train-00003-of-00005.parquet", 250, 1],
    ["data/train-00004-of-00005.parquet", 3, 1],
    ["data/ood-00000-of-00001.parquet", 7, 1],
  ]);
});
