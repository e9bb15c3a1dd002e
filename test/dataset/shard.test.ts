import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetMetadataAsync } from "hyparquet";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { openShard, type Dialogue, type Shard } from "../../src/dataset/index.ts";
import { writeShard } from "../../src/dataset/shard/write-shard.ts";
import { toneClip } from "./corpus.ts";

const dialogue = (number: number): Dialogue => ({
  id: `role-single-${number}`,
  roleId: "role",
  roleName: "胡桃 🦋",
  language: "zh",
  roleSource: "",
  kind: "single",
  category: number % 2 === 0 ? null : "Skills and Abilities",
  systemPrompt: number % 3 === 0 ? null : "prompt ".repeat(50),
  context: null,
  audioSeconds: Math.fround(number / 7),
  turns: Array.from({ length: 1 + (number % 3) }, (_, index) => ({
    index,
    userText: `question ${number}.${index}\nü`,
    userAudio: { bytes: toneClip(number), path: `${number}-user.wav` },
    roleText: `answer ${number}.${index}`,
    roleAudio: {
      cosyvoice2: { bytes: toneClip(number + 1), path: `${number}-a.wav` },
      f5_tts: number % 2 === 0 ? null : { bytes: toneClip(number + 2), path: `${number}-b.wav` },
      e2_tts: null,
    },
  })),
  contentSha256: "0".repeat(64),
});
async function* from(rows: readonly Dialogue[]): AsyncGenerator<Dialogue> {
  yield* rows;
}
const bytesOf = async (path: string): Promise<Buffer> => readFile(path);

describe("a shard", () => {
  const rows = Array.from({ length: 120 }, (_, number) => dialogue(number));
  let folder = "";
  let path = "";
  let shard: Shard;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "understudy-shard-"));
    path = join(folder, "train-00000-of-00001.parquet");
    await writeShard(path, from(rows), { rowGroupBytes: 200_000, footer: "list" });
    shard = await openShard(path);
  });
  afterAll(async () => {
    await shard.close();
    await rm(folder, { recursive: true });
  });

  it("gives back every row by number", async () => {
    expect(shard.rows).toBe(120);
    for (const index of [0, 1, 49, 99, 100, 101, 119]) expect(await shard.row(index)).toEqual(rows[index]);
    await expect(shard.row(120)).rejects.toThrow(RangeError);
    await expect(shard.row(-1)).rejects.toThrow(RangeError);
  });

  it("finds a row by id", async () => {
    expect(await shard.find("role-single-107")).toBe(107);
    expect(await shard.find("role-single-120")).toBeUndefined();
  });

  it("streams all rows, and all text without the audio", async () => {
    const streamed: Dialogue[] = [];
    for await (const row of shard.dialogues()) streamed.push(row);
    expect(streamed).toEqual(rows);
    const texts: unknown[] = [];
    for await (const row of shard.texts()) texts.push(row);
    expect(texts).toEqual(
      rows.map((row) => ({
        ...row,
        turns: row.turns.map(({ index, userText, roleText }) => ({ index, userText, roleText })),
      })),
    );
  });

  it("closes row groups by bytes and by 100 rows", async () => {
    const sizes = async (limit: number): Promise<number[]> => {
      const other = join(folder, `limit-${limit}.parquet`);
      await writeShard(other, from(rows), { rowGroupBytes: limit, footer: "list" });
      const bytes = await bytesOf(other);
      const metadata = await parquetMetadataAsync(new Uint8Array(bytes).buffer);
      return metadata.row_groups.map((group) => Number(group.num_rows));
    };
    expect(await sizes(1_000_000_000)).toEqual([100, 20]);
    const groups = await sizes(50_000);
    expect(groups.reduce((sum, size) => sum + size, 0)).toBe(120);
    expect(Math.max(...groups)).toBeLessThan(20);
    expect(await sizes(1)).toEqual(rows.map(() => 1));
  });

  it("is the same bytes for the same rows, and leaves nothing else behind", async () => {
    const again = join(folder, "again.parquet");
    await writeShard(again, from(rows), { rowGroupBytes: 200_000, footer: "list" });
    expect((await bytesOf(again)).equals(await bytesOf(path))).toBe(true);
    const failing = async function* (): AsyncGenerator<Dialogue> {
      yield dialogue(1);
      throw new Error("source failed");
    };
    const broken = join(folder, "broken.parquet");
    await expect(writeShard(broken, failing(), { rowGroupBytes: 1, footer: "list" })).rejects.toThrow(
      "source failed",
    );
    await expect(bytesOf(broken)).rejects.toThrow("ENOENT");
  });

  it("that is none, cut off or not there is refused by name", async () => {
    const other = join(folder, "other.parquet");
    await writeFile(other, "hello");
    await expect(openShard(other)).rejects.toMatchObject({ code: "SHARD_UNREADABLE" });
    await writeFile(other, await bytesOf(path));
    await truncate(other, 10_000);
    await expect(openShard(other)).rejects.toMatchObject({ code: "SHARD_UNREADABLE" });
    await expect(openShard(join(folder, "none.parquet"))).rejects.toMatchObject({ code: "SHARD_MISSING" });
  });
});
