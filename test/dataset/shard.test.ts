import { mkdtemp, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetMetadataAsync } from "hyparquet";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { openShard, type Dialogue, type Shard } from "../../src/dataset/index.ts";
import { writeShard } from "../../src/dataset/shard/write-shard.ts";
import { data, fmt, riff, s16, sine } from "../audio/build-wav.ts";
import { toneClip } from "./corpus.ts";
import { removeFolder } from "../support/remove-folder.ts";

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
// What the system counts as read by this process.
const bytesRead = async (): Promise<number> =>
  Number(/^rchar: (\d+)$/m.exec(await readFile("/proc/self/io", "utf8"))?.[1]);
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
    removeFolder(folder);
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
    expect(await shard.find("role-single-0")).toBe(0);
    expect(await shard.find("constructor")).toBeUndefined();
  });

  it("finds the first of two rows with one id", async () => {
    const other = join(folder, "twice.parquet");
    const twice = [dialogue(1), dialogue(2), { ...dialogue(3), id: dialogue(1).id }];
    await writeShard(other, from(twice), { rowGroupBytes: 1, footer: "list" });
    const opened = await openShard(other);
    expect(await opened.find(dialogue(1).id)).toBe(0);
    await opened.close();
  });

  it("says how many bytes its columns have", async () => {
    const { size } = await stat(path);
    const clips = rows.flatMap(({ turns }) =>
      turns.flatMap(({ userAudio, roleAudio }) => [userAudio, ...Object.values(roleAudio)]),
    );
    const audio = clips.reduce((sum, clip) => sum + (clip?.bytes.length ?? 0), 0);
    expect(shard.uncompressedBytes).toBeGreaterThan(audio);
    expect(shard.uncompressedBytes).toBeLessThan(audio + size / 4);
  });

  it("reads the bytes of one row for one row, and a small part of them for the text", async () => {
    const read = async (work: () => Promise<unknown>): Promise<number> => {
      const before = await bytesRead();
      await work();
      return (await bytesRead()) - before;
    };
    const long = join(folder, "long.parquet");
    const clip = { bytes: riff([fmt(), data(s16(sine(300, 16_000, { seconds: 3 })))]), path: "a.wav" };
    const longRows = rows.slice(0, 20).map((row) => ({
      ...row,
      turns: row.turns.map((turn) => ({
        ...turn,
        userAudio: clip,
        roleAudio: { ...turn.roleAudio, f5_tts: clip },
      })),
    }));
    await writeShard(long, from(longRows), { rowGroupBytes: 64_000_000, footer: "list" });
    const opened = await openShard(long);
    const { size } = await stat(long);
    await opened.find("role-single-5");
    expect(await read(async () => opened.row(10))).toBeLessThan(size / 10);
    expect(await read(async () => opened.find("role-single-6"))).toBeLessThan(2000);
    const text = await read(async () => {
      for await (const _ of opened.texts());
    });
    expect(text).toBeLessThan(size / 100);
    await opened.close();
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

  it("that is damaged inside is named, with what to do, wherever it is looked at", async () => {
    const other = join(folder, "damaged.parquet");
    const bytes = await bytesOf(path);
    await writeFile(
      other,
      Buffer.concat([bytes.subarray(0, 4), Buffer.alloc(150_000), bytes.subarray(150_004)]),
    );
    const damaged = await openShard(other);
    const refused = {
      code: "SHARD_UNREADABLE",
      message: expect.stringMatching(/damaged\.parquet is damaged \(/),
      hint: expect.stringContaining("dataset check"),
    };
    const all = async (rowsOfIt: AsyncIterable<unknown>): Promise<void> => {
      for await (const _ of rowsOfIt);
    };
    await expect(damaged.row(0)).rejects.toMatchObject(refused);
    await expect(damaged.find("role-single-1")).rejects.toMatchObject(refused);
    await expect(all(damaged.texts())).rejects.toMatchObject(refused);
    await expect(all(damaged.dialogues())).rejects.toMatchObject(refused);
    await damaged.close();
    // A file that cannot be read any more is not called damaged.
    await expect(damaged.row(0)).rejects.toMatchObject({
      code: "SHARD_UNREADABLE",
      message: expect.stringContaining("cannot be read: "),
    });
  });

  it("reads rows near its end, small or large, which lie in what is kept in memory", async () => {
    const small = join(folder, "small.parquet");
    await writeShard(small, from(rows.slice(0, 3)), { rowGroupBytes: 200_000, footer: "list" });
    const opened = await openShard(small);
    expect(await opened.row(2)).toEqual(rows[2]);
    await opened.close();
    expect(await shard.row(rows.length - 1)).toEqual(rows.at(-1));
  });
});
