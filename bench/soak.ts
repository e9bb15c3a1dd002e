// What is too long for the tests, with the compiled program in its own process:
//   corpus  98 roles in the layout of SpeechRole-Data, with defects of every kind in known numbers: import, gates, near-duplicates,
//           pack, lock; what was dropped must be what was planted
//   memory  20 GB of clips of real lengths, packed in 400 MB of memory
// Everything is made in a folder that is removed afterwards: 15 GB are needed for the first, 25 GB for the second.
// Usage: npm run soak [-- --part corpus|memory] [--conversations 111000] [--planted 20] [--bytes 20e9] [--folder DIR]
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatasetLock, SPLITS } from "../src/dataset/index.ts";
import { benchArguments } from "./bench-arguments.ts";
import { understudy, type ChildRun } from "./pack-child.ts";
import { corpusSpec, writeCorpus } from "./pack-corpus.ts";
import { writeRelease, type Planted } from "./soak-corpus.ts";
import { DIMENSION, startEmbedder } from "./soak-embedder.ts";

const LIMIT_BYTES = 400e6;
const SHARED_BY = 20;
const given = benchArguments(["part", "conversations", "planted", "bytes", "folder"]);
const parts: Readonly<Record<string, (folder: string) => Promise<boolean>>> = { corpus, memory };
const chosen = given.part === undefined ? Object.keys(parts) : [given.part];

for (const name of chosen) {
  const part = parts[name];
  if (!part) throw new Error(`there is no part "${name}"`);
  const top = given.folder === undefined ? tmpdir() : resolve(given.folder);
  const folder = mkdtempSync(join(top, "understudy-soak-"));
  try {
    console.log(`${name}: load ${load()}`);
    if (!(await part(folder))) process.exitCode = 1;
    console.log(`${name}: load ${load()}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function corpus(folder: string): Promise<boolean> {
  const start = performance.now();
  const planted = writeRelease(
    join(folder, "corpus"),
    Number(given.conversations ?? 111_000),
    Number(given.planted ?? 20),
  );
  console.log(
    `  ${planted.conversations} conversations, ${(planted.bytes / 1e9).toFixed(2)} GB, made in ${((performance.now() - start) / 1000).toFixed(0)} s`,
  );
  const project = projectIn(folder);
  tell("import", await understudy(["dataset", "import", join(folder, "corpus"), "soak"], project));
  const embedder = await startEmbedder();
  try {
    appendFileSync(join(project, "datasets", "soak.yaml"), nearDuplicates(embedder.url));
    tell("pack", await understudy(["dataset", "pack", "soak"], project));
    tell("again", await understudy(["dataset", "pack", "soak"], project));
  } finally {
    embedder.close();
  }
  tell("check", await understudy(["dataset", "check", "soak"], project));
  return compareDrops(planted, lockIn(project, "soak"));
}

function nearDuplicates(url: string): string {
  const model = (threshold: number): string =>
    `{ model: words, threshold: ${threshold}, endpoint: ${JSON.stringify(url)}, revision: generated, dimension: ${DIMENSION} }`;
  return `nearDuplicates:\n  models:\n    en: ${model(0.9)}\n    zh: ${model(0.85)}\n`;
}

function compareDrops({ drops, conversations }: Planted, lock: DatasetLock): boolean {
  const found = lock.drops.byReason;
  let isGood = true;
  const check = (what: string, wanted: number, is: number): void => {
    if (wanted !== is) isGood = false;
    console.log(
      `  ${what.padEnd(30)} ${String(wanted).padStart(7)} planted ${String(is).padStart(7)} found${wanted === is ? "" : "  ✗"}`,
    );
  };
  for (const reason of new Set([...Object.keys(drops), ...Object.keys(found)].toSorted()))
    check(reason, drops[reason] ?? 0, found[reason] ?? 0);
  const rows = SPLITS.reduce((sum, split) => sum + lock.splits[split].rows, 0);
  const dropped = Object.values(drops).reduce((sum, count) => sum + count, 0);
  check("rows", conversations - dropped, rows);
  check("roles", 98, lock.roles.length);
  check("held-out roles", 20, lock.roles.filter((role) => role.heldOut).length);
  check("test sessions", 392, lock.splits.test.rows);
  const violated = lock.gates.filter((gate) => !gate.passed).map((gate) => gate.name);
  check("violated gates", 0, violated.length);
  console.log(`  ${SPLITS.map((split) => `${split} ${lock.splits[split].rows}`).join(", ")}`);
  return isGood;
}

async function memory(folder: string): Promise<boolean> {
  const source = join(folder, "corpus");
  const made = writeCorpus({
    folder: source,
    bytes: Number(given.bytes ?? 20e9),
    answerRate: 16_000,
    sharedBy: SHARED_BY,
  });
  console.log(`  ${made.dialogues} dialogues, ${made.clips} clips, ${(made.bytes / 1e9).toFixed(2)} GB`);
  const project = projectIn(folder);
  writeFileSync(join(project, "datasets", "soak.yaml"), corpusSpec("soak", source));
  const run = await understudy(["dataset", "pack", "soak"], project);
  tell("pack", run);
  const lock = lockIn(project, "soak");
  const shards = SPLITS.flatMap((split) => lock.splits[split].shards);
  const written = shards.reduce((sum, shard) => sum + shard.bytes, 0);
  console.log(
    `  ${shards.length} shards, ${(written / 1e9).toFixed(2)} GB, ${(made.bytes / 1e6 / run.seconds).toFixed(0)} MB/s, drops ${JSON.stringify(lock.drops.byReason)}`,
  );
  const isGood = run.peakBytes <= LIMIT_BYTES && written > made.bytes;
  if (!isGood) console.log(`  limit missed: ${LIMIT_BYTES / 1e6} MB`);
  return isGood;
}

function projectIn(folder: string): string {
  const project = join(folder, "project");
  for (const noun of ["recipes", "launchers", "datasets", "checkpoints"])
    mkdirSync(join(project, noun), { recursive: true });
  return project;
}

function lockIn(project: string, name: string): DatasetLock {
  return DatasetLock.parse(JSON.parse(readFileSync(join(project, "datasets", `${name}.lock.json`), "utf8")));
}

function tell(what: string, { seconds, peakBytes }: ChildRun): void {
  console.log(
    `  ${what.padEnd(7)} ${seconds.toFixed(1).padStart(7)} s, most memory resident ${(peakBytes / 1e6).toFixed(0)} MB, load ${load()}`,
  );
}

function load(): string {
  return (loadavg()[0] ?? NaN).toFixed(1);
}
