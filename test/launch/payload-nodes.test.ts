import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { testPython } from "../support/python.ts";
import { planBelow, readJson } from "./slurm/chain-support.ts";
import { temporaryFolder } from "./support.ts";

const payload = resolve(import.meta.dirname, "../../launchers/payload");
const python = testPython() ?? "";
const MINUTE = 60_000;

const MAKE = `
import sys
from pathlib import Path
from support import corpus
from understudy_payload.tiny import build_tiny_model
folder = Path(sys.argv[1])
build_tiny_model(folder / "model", seed=7)
corpus.write_shard(folder / "train.parquet", corpus.greenroom(2))
corpus.write_shard(folder / "dev.parquet", corpus.greenroom(1, start=4))
`;

const TRAINING = {
  mode: "lora",
  precision: "bf16",
  learningRate: 0.01,
  weightDecay: 0,
  maxGradNorm: 1,
  schedule: "cosine",
  warmupFraction: 0.1,
  steps: 3,
  globalBatch: 4,
  microBatch: 2,
  evalEverySteps: 3,
  saveEverySteps: 2,
  logEverySteps: 1,
  maxTokens: 2048,
  gradientCheckpointing: false,
  lora: { rank: 4, alpha: 8, dropout: 0 },
  zero: 0,
  dataLoaderWorkers: 0,
  seed: 3,
};

// Two addresses of this machine are the nodes. As the real one does, it starts each rank in a session of its own, tells it
// its number, and ends with the greatest exit code.
const SRUN = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --ntasks=*) tasks=\${1#*=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
rank=0 started=''
while [ "$rank" -lt "$tasks" ]; do
  SLURM_PROCID=$rank SLURM_LOCALID=0 SLURM_NTASKS=$tasks setsid --wait "$@" &
  started="$started $!"
  rank=$((rank + 1))
done
worst=0
for one in $started; do
  wait "$one"
  code=$?
  [ "$code" -le "$worst" ] || worst=$code
done
exit "$worst"
`;
const SCONTROL = `#!/bin/sh\n[ "$*" = "show hostnames n[1-2]" ] && printf '127.0.0.1\\n127.0.0.2\\n'\n`;

describe.skipIf(python === "")("a training job on two nodes (UNDERSTUDY_TEST_PYTHON)", () => {
  const folder = temporaryFolder().path;

  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  };

  /** Runs what Slurm would run on the first node: the exit code. */
  const runPlan = (runId: string): number | null => {
    const manifest = {
      schemaVersion: 1,
      kind: "train",
      run: runId,
      device: "cpu",
      model: { path: join(folder, "model"), revision: "tiny" },
      prompt: { preamble: "You are a virtual human." },
      data: { train: [join(folder, "train.parquet")], dev: [join(folder, "dev.parquet")] },
      training: TRAINING,
    };
    const plan = planBelow(folder, runId, {
      settings: { nodes: 2, processes: 1, chain: 1 },
      changes: { manifest, python, payload },
    });
    for (const { path, mode, text } of plan.files) write(path, text, mode);
    const script = join(folder, runId, "attempts/1/job.sh");
    return spawnSync("/bin/sh", [script, "1", "1"], {
      stdio: "ignore",
      env: {
        PATH: `${join(folder, "bin")}:/usr/sbin:/usr/bin:/sbin:/bin`,
        HOME: folder,
        PYTHONDONTWRITEBYTECODE: "1",
        SLURM_JOB_ID: String(process.pid),
        SLURM_JOB_NODELIST: "n[1-2]",
        SLURM_JOB_NUM_NODES: "2",
        SLURMD_NODENAME: "n1",
      },
    }).status;
  };

  it(
    "meets on a port that is not fixed and trains to the end as one run",
    () => {
      write(join(folder, "bin/srun"), SRUN, 0o755);
      write(join(folder, "bin/scontrol"), SCONTROL, 0o755);
      execFileSync(python, ["-c", MAKE, folder], {
        env: { ...process.env, PYTHONPATH: `${payload}:${join(payload, "tests")}`, OMP_NUM_THREADS: "1" },
        stdio: ["ignore", "ignore", "pipe"],
      });

      expect(runPlan("pair")).toBe(0);

      const run = join(folder, "pair");
      const events = readFileSync(join(run, "events.jsonl"), "utf8")
        .trimEnd()
        .split("\n")
        .map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.find(({ type }) => type === "started")).toMatchObject({ worldSize: 2 });
      expect(events.filter(({ type }) => type === "step").map(({ step }) => step)).toEqual([1, 2, 3]);
      expect(events.at(-1)).toMatchObject({ type: "finished", step: 3 });
      expect(readJson(join(run, "output/checkpoint-3/_COMPLETE.json"))).toMatchObject({ worldSize: 2 });
      expect(readJson(join(run, "attempts/1/result.json"))).toMatchObject({ exitCode: 0 });
      const log = readFileSync(join(run, "attempts/1/log.txt"), "utf8");
      expect(log).toMatch(/^ranks: 1 on each of 2 nodes, meeting at 127\.0\.0\.1:\d+$/m);
      expect(log).not.toMatch(/:29500$/m);
    },
    5 * MINUTE,
  );

  it(
    "ends on both nodes with the exit code of the one that knows why",
    () => {
      write(join(folder, "train.parquet"), "no shard");
      expect(runPlan("broken")).toBe(2);
      const events = readFileSync(join(folder, "broken/events.jsonl"), "utf8").trimEnd().split("\n");
      expect(events.filter((line) => line.includes("SHARD_UNREADABLE"))).not.toHaveLength(0);
    },
    5 * MINUTE,
  );
});
