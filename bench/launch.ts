// What launching on Slurm costs: a start against a bare sbatch of the very same script, and one look at many tracked runs.
// Medians of alternating runs on a real cluster of this machine. Needs root and Slurm, see test/real/slurm/lab.ts.
// Usage: node bench/launch.ts [tracked runs] [repetitions] (Node 22.18 or newer), or with any Node
//   node --input-type=module -e 'await (await import("vite")).runnerImport("bench/launch.ts")' -- [tracked runs] [repetitions]
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { LauncherProfile, type JobRef } from "../src/launch/index.ts";
import { compile } from "../test/launch/compile.ts";
import { startLab, type SlurmLab } from "../test/real/slurm/lab.ts";
import { profileOf, slurmBench } from "../test/launch/slurm/slurm-bench.ts";

const LIMITS = { overheadMs: 300, observeMs: 500, rssMegabytes: 200 };

const numbers = process.argv
  .slice(1)
  .map(Number)
  .filter((value) => value > 0);
const tracked = numbers[0] ?? 1000;
const repetitions = numbers[1] ?? 3;

/** One figure, and what it may be at most. */
interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly limit?: number;
}

const lab = await startLab();
try {
  const figures = [...(await measureStart(lab)), ...(await measureObserve(lab))];
  for (const { name, value, unit, limit } of figures) {
    const bound = limit === undefined ? "" : `  (limit ${limit}${value <= limit ? "" : ", MISSED"})`;
    process.stdout.write(`${name.padEnd(52)} ${value.toFixed(1).padStart(8)} ${unit}${bound}\n`);
  }
  if (figures.some(({ value, limit }) => limit !== undefined && value > limit)) process.exitCode = 1;
} finally {
  await lab.close();
}

/** Start to accepted, against sbatch of the same script with the same options. */
async function measureStart(of: SlurmLab): Promise<Figure[]> {
  const bench = await slurmBench(of, { profile: { extra: ["--hold"] } });
  const ours: number[] = [];
  const bare: number[] = [];
  const overhead: number[] = [];
  // The first start of a process opens what all later ones use.
  await bench.submit(bench.job([]));
  for (let round = 0; round < repetitions * 3; round++) {
    const plan = bench.plan(bench.job([]));
    const began = performance.now();
    const answer = await bench.launcher.submit(plan);
    const accepted = performance.now();
    if (answer.outcome !== "accepted") throw new Error(JSON.stringify(answer));
    const [program, ...rest] = plan.argv;
    const from = performance.now();
    execFileSync(program, rest, { env: of.environment, stdio: "ignore" });
    const to = performance.now();
    ours.push(accepted - began);
    bare.push(to - from);
    overhead.push(accepted - began - (to - from));
  }
  await bench.launcher.close();
  cancelAll(of);
  return [
    { name: "bare sbatch", value: median(bare), unit: "ms" },
    { name: "start to accepted", value: median(ours), unit: "ms" },
    { name: "overhead", value: median(overhead), unit: "ms", limit: LIMITS.overheadMs },
  ];
}

/** One look at many runs of one cluster, by a compiled program of its own: processor time, commands, and memory. */
async function measureObserve(of: SlurmLab): Promise<Figure[]> {
  const request = join(of.folder, "observe.json");
  const counters = shimsThatCount(of);
  writeFileSync(
    request,
    JSON.stringify({
      repetitions,
      refs: trackMany(of, tracked),
      profile: LauncherProfile.parse(profileOf(of, { profile: { pollSeconds: 1, deadlineSeconds: 60 } })),
      payload: join(of.folder, "payload"),
      environment: { ...of.environment, HOME: of.folder, PATH: counters.path },
    }),
  );
  const script = join(of.folder, "observe.mjs");
  writeFileSync(script, observer(compile(of.folder, ["launch/index.ts", "core/clock.ts"])));
  const before = counters.calls();
  const { own, whole, rss, phases } = z
    .object({
      own: z.array(z.number()),
      whole: z.array(z.number()),
      rss: z.number(),
      phases: z.array(z.string()),
    })
    .parse(JSON.parse(execFileSync(process.execPath, [script, request], { encoding: "utf8" })));
  if (phases.some((phase) => phase !== "live" && phase !== "ended")) throw new Error(phases.join());
  const after = counters.calls();
  cancelAll(of);
  return [
    { name: `observe ${tracked} runs, until all are known`, value: median(whole), unit: "ms" },
    {
      name: `observe ${tracked} runs, own time`,
      value: median(own),
      unit: "ms",
      limit: LIMITS.observeMs,
    },
    ...(["squeue", "sacct"] as const).map((program) => ({
      name: `${program} per poll`,
      value: (after[program] - before[program]) / repetitions,
      unit: "calls",
      limit: 1,
    })),
    { name: "resident memory", value: rss / 2 ** 20, unit: "MB", limit: LIMITS.rssMegabytes },
  ];
}

function observer(output: string): string {
  return `
import { readFileSync } from "node:fs";
import { openLauncher } from ${JSON.stringify(join(output, "launch/index.js"))};
import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
const { repetitions, refs, profile, payload, environment } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const launcher = await openLauncher(profile, { clock: systemClock, environment, payload });
const own = [], whole = [];
let seen = new Map();
for (let round = 0; round < repetitions; round++) {
  // Longer than pollSeconds: each round asks the cluster.
  if (round > 0) await systemClock.sleep(1100);
  const cpu = process.cpuUsage(), at = performance.now();
  seen = await launcher.observe(refs);
  const { user, system } = process.cpuUsage(cpu);
  own.push((user + system) / 1000);
  whole.push(performance.now() - at);
}
await launcher.close();
const phases = [...new Set([...seen.values()].map(({ phase }) => phase))];
if (seen.size !== refs.length) phases.push("missing");
process.stdout.write(JSON.stringify({ own, whole, phases, rss: process.memoryUsage().rss }));
`;
}

/** Jobs of many runs: most wait, some have ended and need the accounts. */
function trackMany(of: SlurmLab, count: number): JobRef[] {
  const script = `i=0; while [ $i -lt ${count} ]; do i=$((i + 1))
    sbatch --parsable --hold -D/tmp -o/dev/null --job-name=us-bench-$i-a1 \\
      --comment='{"marker":"us-bench-'$i'-a1","link":1,"links":1,"run":"bench-'$i'"}' --wrap=true; done`;
  const ids = of.run(["sh", "-c", script]).trim().split("\n");
  const submittedAt = Date.now() - 60_000;
  const ended = ids.slice(0, Math.floor(count / 5));
  of.run(["scancel", ...ended]);
  return ids.map((id, index) => {
    const marker = `us-bench-${index + 1}-a1`;
    const folder = join(of.home, `runs/bench-${index + 1}/attempts/1`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "job.template.json"), "{}");
    return { kind: "slurm", marker, folder, cluster: null, jobs: [{ id, link: 1 }], submittedAt };
  });
}

/** squeue and sacct that leave a mark each time they are called. */
function shimsThatCount(of: SlurmLab): {
  readonly path: string;
  readonly calls: () => { readonly squeue: number; readonly sacct: number };
} {
  const folders = ["squeue", "sacct"].map((program) =>
    of.shim(program, `printf . >>${of.folder}/${program}.calls\nexec "$REAL" "$@"`),
  );
  const count = (program: string): number => {
    const file = join(of.folder, `${program}.calls`);
    return existsSync(file) ? readFileSync(file, "utf8").length : 0;
  };
  return {
    path: [...folders, of.environment["PATH"] ?? ""].join(":"),
    calls: () => ({ squeue: count("squeue"), sacct: count("sacct") }),
  };
}

function cancelAll(of: SlurmLab): void {
  of.run(["scancel", "--user=root"]);
  rmSync(join(of.home, "runs"), { recursive: true, force: true });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
