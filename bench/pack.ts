// Packing clips of real lengths from WAV files, in one run and in turns, so that a busy machine hits all alike:
//   ours      understudy dataset pack, compiled, in its own process: decoding, checks, SHA-256, gates, shards, lock
//   plain     one thread that reads the same files, hashes, writes and syncs them
//   datasets  Python's from_generator with Audio features, then to_parquet: files as they are; with decoding, checks and SHA-256
//             ("all"); and with a seeded shuffle and the digest of what was written too, the same job as ours
// Rates are bytes of clips by median seconds. Then a row by id and the text of a shard that was packed, and the rate for
// answers of 24 kHz, which only ours resamples (the others keep them as they are, so that this is no comparison). The load of the machine is printed: on a busy one only the ratios say something.
// Usage: npm run build && node bench/compiled.js pack [--bytes 2e9] [--rounds 3] [--folder DIR] [--python PATH] [--rate HZ]
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { benchArguments, median } from "./bench-arguments.ts";
import { understudy } from "./pack-child.ts";
import { lookInside } from "./pack-look.ts";
import { Corpus, corpusSpec, writeCorpus } from "./pack-corpus.ts";

const LIMITS = { plain: 0.5, datasets: 3, peakBytes: 400e6, rowMilliseconds: 3, textShare: 0.01 };
const PART_BYTES = 500e6;
const given = benchArguments(["bytes", "rounds", "folder", "python", "rate"]);
const wanted = Number(given.bytes ?? 2e9);
const rounds = Number(given.rounds ?? 3);
const python = findPython();
const top =
  given.folder === undefined ? mkdtempSync(join(tmpdir(), "understudy-pack-")) : resolve(given.folder);
const failures: string[] = [];

try {
  console.log(`load ${load()}; ${(wanted / 1e9).toFixed(2)} GB of clips, median of ${rounds}`);
  await compare("16 kHz", {
    bytes: wanted,
    answerRate: Number(given.rate ?? 16_000),
    isLimited: true,
    rounds,
  });
  const looked = await lookInside(join(top, "project", "datasets", "packed", "bench", "data"));
  console.log(
    `a shard of ${(looked.bytes / 1e6).toFixed(0)} MB: a row by id ${looked.milliseconds.toFixed(2)} ms, limit ${LIMITS.rowMilliseconds} ms; all text reads ${(looked.textShare * 100).toFixed(2)} % of it, limit ${LIMITS.textShare * 100} %`,
  );
  atLeast("limit for a row by id by its time", LIMITS.rowMilliseconds / looked.milliseconds, 1);
  atLeast("limit for the bytes of the text by those read", LIMITS.textShare / looked.textShare, 1);
  await compare("answers of 24 kHz, resampled", {
    bytes: wanted / 40,
    answerRate: 24_000,
    isLimited: false,
    rounds: 1,
  });
  console.log(`load ${load()}`);
} finally {
  if (given.folder === undefined) rmSync(top, { recursive: true, force: true });
}
for (const failure of failures) console.log(`limit missed: ${failure}`);
if (failures.length > 0) process.exitCode = 1;

interface Case {
  readonly bytes: number;
  readonly answerRate: number;
  readonly isLimited: boolean;
  readonly rounds: number;
}

async function compare(title: string, { bytes, answerRate, isLimited, rounds: times }: Case): Promise<void> {
  const corpus = corpusIn(join(top, `corpus-${answerRate}-${bytes}`), bytes, answerRate);
  const seconds = new Map<string, number[]>();
  const peaks: number[] = [];
  const processor = { plain: 0, ours: 0 };
  const ways: Record<string, () => Promise<number>> = {
    plain: async () => {
      const before = process.cpuUsage();
      const took = plain(corpus);
      const { user, system } = process.cpuUsage(before);
      processor.plain = (user + system) / 1e6;
      return took;
    },
    ours: async () => {
      const run = await ours(corpus);
      peaks.push(run.peakBytes);
      processor.ours = run.processorSeconds;
      return run.seconds;
    },
    ...(python === undefined
      ? {}
      : {
          datasets: async () => theirs(corpus, python, "plain"),
          "datasets, all": async () => theirs(corpus, python, "full"),
          "the same job": async () => theirs(corpus, python, "same"),
        }),
  };
  for (let round = 0; round < times; round++)
    for (const [name, way] of Object.entries(ways)) {
      execFileSync("sync");
      seconds.set(name, [...(seconds.get(name) ?? []), await way()]);
    }
  console.log(
    `${title}: ${corpus.dialogues} dialogues, ${corpus.clips} clips, ${(corpus.bytes / 1e9).toFixed(2)} GB`,
  );
  const secondsOf = tellTimes(seconds, corpus.bytes);
  const peak = Math.max(...peaks);
  console.log(
    `most memory resident in ours: ${(peak / 1e6).toFixed(0)} MB, limit ${LIMITS.peakBytes / 1e6} MB`,
  );
  console.log(
    `processor in the last round: ${processor.ours.toFixed(1)} s ours, ${processor.plain.toFixed(1)} s plain`,
  );
  if (!isLimited) return;
  atLeast("rate by that of one plain thread", secondsOf("plain") / secondsOf("ours"), LIMITS.plain);
  if (python !== undefined)
    atLeast(
      "rate by that of datasets doing the same job",
      secondsOf("the same job") / secondsOf("ours"),
      LIMITS.datasets,
    );
  atLeast("memory limit by memory", LIMITS.peakBytes / peak, 1);
}

function tellTimes(seconds: ReadonlyMap<string, readonly number[]>, bytes: number): (name: string) => number {
  const of = (name: string): number => median(seconds.get(name) ?? []);
  for (const [name, each] of seconds)
    console.log(
      `${name.padEnd(14)} ${of(name).toFixed(2).padStart(7)} s  ${(bytes / 1e6 / of(name)).toFixed(0).padStart(5)} MB/s  ours has ${(of(name) / of("ours")).toFixed(2)} of its rate  (${each.map((value) => value.toFixed(1)).join(" ")})`,
    );
  if (python === undefined)
    console.log("datasets was not measured: no Python with it (npm test makes one; or --python PATH)");
  return of;
}

function atLeast(what: string, value: number, limit: number): void {
  if (!(value >= limit)) failures.push(`${what} is ${value.toFixed(2)}, at least ${limit} is wanted`);
}

function corpusIn(folder: string, bytes: number, answerRate: number): Corpus & { readonly folder: string } {
  const note = join(folder, "corpus.txt");
  // Written last: a folder without it is begun again.
  if (existsSync(note)) return { ...Corpus.parse(JSON.parse(readFileSync(note, "utf8"))), folder };
  rmSync(folder, { recursive: true, force: true });
  const corpus = writeCorpus({ folder, bytes, answerRate, sharedBy: 1 });
  writeFileSync(note, JSON.stringify(corpus));
  return { ...corpus, folder };
}

async function ours({
  folder,
}: {
  readonly folder: string;
}): Promise<Awaited<ReturnType<typeof understudy>>> {
  const project = join(top, "project");
  rmSync(project, { recursive: true, force: true });
  for (const noun of ["recipes", "launchers", "datasets", "checkpoints"])
    mkdirSync(join(project, noun), { recursive: true });
  writeFileSync(join(project, "datasets", "bench.yaml"), corpusSpec("bench", folder));
  return understudy(["dataset", "pack", "bench"], project);
}

function plain({ folder, files }: Corpus & { readonly folder: string }): number {
  const out = join(top, "plain");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  const start = performance.now();
  let [part, size] = [0, 0];
  let file = openSync(join(out, String(part)), "w");
  const hash = createHash("sha256");
  for (const path of files) {
    const bytes = readFileSync(join(folder, path));
    hash.update(bytes);
    if (size + bytes.length > PART_BYTES) {
      fsyncSync(file);
      closeSync(file);
      part++;
      size = 0;
      file = openSync(join(out, String(part)), "w");
    }
    writeSync(file, bytes);
    size += bytes.length;
  }
  fsyncSync(file);
  closeSync(file);
  hash.digest();
  const seconds = (performance.now() - start) / 1000;
  rmSync(out, { recursive: true });
  return seconds;
}

function theirs(
  { folder, clips }: Corpus & { readonly folder: string },
  program: string,
  job: "plain" | "full" | "same",
): number {
  const out = join(top, "datasets");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  const start = performance.now();
  const words = [join(folder, "dialogues.jsonl"), join(out, "train.parquet"), join(out, "cache"), job];
  const said = execFileSync(program, [join(process.cwd(), "bench", "pack-datasets.py"), ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const seconds = (performance.now() - start) / 1000;
  if (!said.includes(`"clips": ${clips},`)) throw new Error(`datasets packed something else: ${said}`);
  rmSync(out, { recursive: true });
  return seconds;
}

function findPython(): string | undefined {
  const made = join(process.cwd(), ".understudy", "environments");
  const places = [
    given.python ??
      process.env["UNDERSTUDY_TEST_PYTHON"] ??
      join(process.cwd(), ".understudy", "test-env", "bin", "python"),
    ...(existsSync(made) ? readdirSync(made).map((name) => join(made, name, "bin", "python")) : []),
  ];
  // Not `import datasets`: a folder of that name stands here, and Python takes it for a package.
  return places.filter(existsSync).find((place) => {
    try {
      execFileSync(place, ["-c", "from datasets import Audio"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
}

function load(): string {
  return (loadavg()[0] ?? NaN).toFixed(1);
}
