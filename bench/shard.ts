// Reading a shard of 500 MB with clips of real lengths: a row by number and by id, the text alone, and all of it. Bytes are what the
// system counts as read by this process (Linux).
// Usage: node bench/compiled.js shard [megabytes]
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clipHeader } from "../src/audio/index.ts";
import { openShard, type Clip, type Dialogue, type Shard } from "../src/dataset/index.ts";
import { writeShard } from "../src/dataset/shard/write-shard.ts";

const LIMIT_MILLISECONDS = 3;
const LIMIT_TEXT_SHARE = 0.01;
const LOOKS = 50;
const SECONDS = { user: 4.5, role: 15 };
const PROSE = 1_000;

const megabytes = Number(process.argv[2] ?? 500);
const folder = mkdtempSync(join(tmpdir(), "understudy-shard-"));
const path = join(folder, "train-00000-of-00001.parquet");
const idOf = (number: number): string =>
  `role-multi-${createHash("sha256").update(String(number)).digest("hex")}`;

try {
  const start = performance.now();
  await writeShard(path, dialogues(megabytes * 1e6), { rowGroupBytes: 64_000_000, footer: "list" });
  const bytes = statSync(path).size;
  console.log(`written  ${(bytes / 1e6).toFixed(0)} MB in ${(performance.now() - start).toFixed(0)} ms`);
  await measure(bytes);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(bytes: number): Promise<void> {
  const opened = await timed(async () => openShard(path));
  const shard = opened.value;
  console.log(`open     ${opened.milliseconds.toFixed(2)} ms, ${shard.rows} rows`);
  const first = await timed(async () => shard.find(idOf(0)));
  console.log(`find     ${first.milliseconds.toFixed(2)} ms the first time`);
  const picks = Array.from({ length: LOOKS }, (_, look) => (look * 7919) % shard.rows);
  // A compiler that has seen no row yet is not what is measured.
  await medianOf(picks.slice(0, 10), async (number) => shard.row(number));
  const byNumber = await medianOf(picks, async (number) => shard.row(number));
  const byId = await medianOf(picks, async (number) => lookUp(shard, number));
  console.log(`row      ${byNumber.text} by number; ${byId.text} by id, limit ${LIMIT_MILLISECONDS} ms`);
  const text = await timed(async () => count(shard.texts()));
  const share = text.read / bytes;
  console.log(
    `text     ${text.milliseconds.toFixed(0)} ms, ${(text.read / 1e3).toFixed(0)} kB read = ${(share * 100).toFixed(2)} % of the file, limit ${LIMIT_TEXT_SHARE * 100} %`,
  );
  const all = await timed(async () => count(shard.dialogues()));
  console.log(`all      ${(bytes / 1e3 / all.milliseconds).toFixed(0)} MB/s`);
  if (text.value !== shard.rows || all.value !== shard.rows) throw new Error("rows are missing");
  if (byId.milliseconds > LIMIT_MILLISECONDS || share >= LIMIT_TEXT_SHARE) process.exitCode = 1;
  await shard.close();
}

async function lookUp(shard: Shard, number: number): Promise<Dialogue> {
  const found = await shard.find(idOf(number));
  if (found !== number) throw new Error(`${idOf(number)} was found at ${found}`);
  return shard.row(found);
}

async function medianOf(
  picks: readonly number[],
  look: (number: number) => Promise<Dialogue>,
): Promise<{ readonly milliseconds: number; readonly text: string }> {
  const looks = [];
  for (const number of picks) {
    const done = await timed(async () => look(number));
    if (done.value.id !== idOf(number)) throw new Error(`row ${number} is ${done.value.id}`);
    looks.push(done);
  }
  const median = looks.toSorted((a, b) => a.milliseconds - b.milliseconds)[Math.floor(looks.length / 2)];
  if (!median) throw new Error("nothing was looked up");
  return {
    milliseconds: median.milliseconds,
    text: `${median.milliseconds.toFixed(2)} ms (${(median.read / 1e3).toFixed(0)} kB read)`,
  };
}

async function timed<Value>(
  work: () => Promise<Value>,
): Promise<{ readonly value: Value; readonly milliseconds: number; readonly read: number }> {
  const before = readSoFar();
  const start = performance.now();
  const value = await work();
  return { value, milliseconds: performance.now() - start, read: readSoFar() - before };
}

function readSoFar(): number {
  const [, bytes] = /^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8")) ?? [];
  return Number(bytes);
}

async function count(rows: AsyncIterable<unknown>): Promise<number> {
  let found = 0;
  for await (const _ of rows) found += 1;
  return found;
}

async function* dialogues(limit: number): AsyncGenerator<Dialogue> {
  let bytes = 0;
  for (let number = 0; bytes < limit; number++) {
    const turns = Array.from({ length: 1 + (number % 4) }, (_, index) => ({
      index,
      userText: `What do you say to number ${number}, turn ${index}?`,
      userAudio: clip(number, SECONDS.user),
      roleText: "As I always said, so I say again. ".repeat(7),
      roleAudio: { cosyvoice2: clip(number + 1, SECONDS.role), f5_tts: null, e2_tts: null },
    }));
    bytes += turns.length * (SECONDS.user + SECONDS.role) * 32_000;
    yield {
      id: idOf(number),
      roleId: "role",
      roleName: "金葫芦",
      language: "zh",
      roleSource: "RoleLLM",
      kind: "multi",
      category: null,
      systemPrompt: `${number} ${"a card of the role ".repeat(PROSE / 19)}`,
      context: `${number} ${"a scene of the script ".repeat(PROSE / 22)}`,
      audioSeconds: turns.length * 19.5,
      turns,
      contentSha256: createHash("sha256").update(String(number)).digest("hex"),
    };
  }
}

// A saw with noise: no two clips are the same, and none is cheap to make by accident.
function clip(number: number, seconds: number): Clip {
  const samples = Math.round(seconds * 16_000);
  const bytes = Buffer.alloc(44 + samples * 2);
  bytes.set(clipHeader(samples * 2));
  let state = number + 1;
  for (let at = 0; at < samples; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeInt16LE(((at * 37) % 8_001) - 4_000 + (state >>> 22), 44 + at * 2);
  }
  return { bytes, path: `${number}-${seconds}.wav` };
}
