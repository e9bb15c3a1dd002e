// Near-duplicate removal at full size: 98 roles of 1,600 dialogues each, exact cosine, one thread. The vectors are made here in
// families, so that about one in ten is a near-duplicate. Median of the runs, each rule; also the cache: the
// same vectors written and read back. The load of the machine is printed: on a busy one the figures say little.
// Usage: node bench/near.ts [dimension] [runs] [roles] (Node 22.18 or newer), or with any Node
//   node --input-type=module -e 'await (await import("vite")).runnerImport("bench/near.ts")' -- [dimension] [runs] [roles]
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { sha256 } from "../src/core/hash.ts";
import { components } from "../src/dataset/near/components.ts";
import { greedy } from "../src/dataset/near/greedy.ts";
import { VectorCache } from "../src/dataset/near/index.ts";
import { vectorTable, type VectorTable } from "../src/dataset/near/table.ts";
import { unitVector } from "../src/dataset/near/unit-vector.ts";

const DIALOGUES = 1600;
const LIMIT_SECONDS = 90;
const numbers = process.argv
  .slice(1)
  .map(Number)
  .filter((value) => value > 0);
const dimension = numbers[0] ?? 384;
const runs = numbers[1] ?? 3;
const roles = numbers[2] ?? 98;

let state = 1;
const random = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32 - 0.5;
};
const vectors = (): Float32Array[] => {
  const centres = Array.from({ length: DIALOGUES / 2 }, () => Array.from({ length: dimension }, random));
  return Array.from({ length: DIALOGUES }, (_, index) => {
    const centre = centres[Math.floor((random() + 0.5) * centres.length)] ?? [];
    const noise = 0.2 + (index % 5) * 0.15;
    const raw = centre.map((value) => value + noise * random());
    return unitVector(raw, dimension, "here");
  });
};
const table = (): VectorTable =>
  vectorTable(vectors().map((vector, index) => ({ id: String(index).padStart(5, "0"), vector })));
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
/** Seconds on the clock and of the processor: on a busy machine they differ. */
const timed = async (work: () => Promise<void>): Promise<{ readonly wall: number; readonly cpu: number }> => {
  const start = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
};

console.log(
  `load ${loadavg()[0]?.toFixed(1)}; ${roles} roles × ${DIALOGUES} × ${dimension}, median of ${runs}`,
);
for (const [name, rule] of Object.entries({ greedy, components })) {
  const walls: number[] = [];
  const cpus: number[] = [];
  let removed = 0;
  for (let run = 0; run < runs; run += 1) {
    removed = 0;
    let [wall, cpu] = [0, 0];
    // One role at a time, as the pack does it.
    for (let role = 0; role < roles; role += 1) {
      const rows = table();
      const took = await timed(async () => {
        removed += (await rule(rows, 0.9)).length;
      });
      wall += took.wall;
      cpu += took.cpu;
    }
    walls.push(wall);
    cpus.push(cpu);
  }
  const share = ((100 * removed) / (roles * DIALOGUES)).toFixed(0);
  console.log(
    `${name.padEnd(10)} ${median(walls).toFixed(1)} s (processor ${median(cpus).toFixed(1)} s), ${share} % removed; limit ${LIMIT_SECONDS} s`,
  );
  if (dimension === 384 && roles === 98 && median(walls) > LIMIT_SECONDS) process.exitCode = 1;
}

const folder = mkdtempSync(join(tmpdir(), "understudy-near-"));
try {
  const fingerprint = {
    engine: "bench",
    model: "bench",
    revision: null,
    weightsSha256: null,
    filesSha256: null,
    dtype: "float32",
    pooling: "mean",
    maxTokens: null,
    dimension,
  };
  const written = new VectorCache(folder, fingerprint, systemClock);
  const keys = Array.from({ length: roles }, (_, role) =>
    Array.from({ length: DIALOGUES }, (__, index) => sha256(`${role} ${index}`)),
  );
  const writing = await timed(async () => {
    for (const ofRole of keys) {
      const made = vectors();
      await written.add(ofRole.map((key, index) => ({ key, vector: made[index] ?? new Float32Array() })));
    }
  });
  const read = new VectorCache(folder, fingerprint, systemClock);
  const reading = await timed(async () => {
    for (const ofRole of keys)
      if ((await read.get(ofRole)).includes(undefined)) throw new Error("a vector is missing");
  });
  const rss = (process.memoryUsage.rss() / 2 ** 20).toFixed(0);
  console.log(
    `cache      ${writing.wall.toFixed(1)} s to make and write, ${reading.wall.toFixed(1)} s to read back`,
  );
  console.log(`RSS at the end ${rss} MiB; load ${loadavg()[0]?.toFixed(1)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
