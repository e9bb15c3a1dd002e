import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { projectAt } from "../../../src/core/project.ts";
import { loadProfile, preparePython } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { temporaryFolder } from "../support.ts";
import { allGone, linkRecords, planBelow, readJson, submitByHand, tryRead } from "./chain-support.ts";

const repository = resolve(import.meta.dirname, "../../..");
const MINUTES = 60_000;

realSuite("a chain on Slurm with no controller at all", { programs: LAB_PROGRAMS, root: true }, () => {
  let lab: SlurmLab;
  const folder = temporaryFolder().path;
  beforeAll(async () => {
    chmodSync(folder, 0o755);
    lab = await startLab({ accounting: "none" });
  });
  afterAll(async () => {
    await lab.close();
  });

  it(
    "trains over the time limits of at least two jobs to the end, each going on from the last complete checkpoint",
    async () => {
      const project = projectAt(repository);
      const interpreter = await preparePython({
        project,
        payload: join(project.launchers, "payload"),
        profile: await loadProfile(project, "local"),
        environment: process.env,
        clock: systemClock,
        onLine: () => undefined,
      });
      const payload = join(folder, "payload");
      mkdirSync(payload);
      symlinkSync(
        join(repository, "launchers/payload/understudy_payload"),
        join(payload, "understudy_payload"),
      );
      // Fourteen steps of this tiny model take seconds. In the first two attempts one of them takes until the limit.
      writeFileSync(
        join(payload, "sitecustomize.py"),
        `import time
import understudy_payload.stopping as stopping
ask = stopping.StopRequest.reason
asked = 0
def slowly(self):
    global asked
    asked += 1
    while int(self._file.parent.name) < 3 and asked > 4 and not self._file.exists():
        time.sleep(0.1)
    return ask(self)
stopping.StopRequest.reason = slowly
`,
      );
      const model = join(folder, "tiny");
      const environment = { PYTHONPATH: payload, PATH: "/usr/bin:/bin", PYTHONDONTWRITEBYTECODE: "1" };
      execFileSync(interpreter, ["-m", "understudy_payload", "tiny-model", model], { env: environment });
      execFileSync(interpreter, ["-c", SHARDS, folder], {
        env: { ...environment, PYTHONPATH: join(repository, "launchers/payload/tests") },
      });
      const runId = "training";
      const manifest = {
        schemaVersion: 1,
        kind: "train",
        run: runId,
        device: "cpu",
        model: { path: model, revision: "tiny" },
        prompt: { preamble: "You are a virtual human." },
        data: { train: [join(folder, "train.parquet")], dev: [join(folder, "dev.parquet")] },
        training: TRAINING,
      };
      const settings = {
        time: "2",
        signalSeconds: 20,
        graceSeconds: 20,
        chain: 6,
        processes: 2,
        requeue: false,
      };
      const plan = planBelow(folder, runId, {
        settings,
        changes: { manifest, python: interpreter, payload, diskBytes: 1e8 },
      });
      const ids = submitByHand(lab, plan);
      await allGone(lab, ids);
      const run = join(folder, runId);
      const records = Object.values(linkRecords(run));
      const started = records.filter(({ decision }) => decision === "run");
      const log = tryRead(join(run, "attempts/1/log.txt"));
      expect(started.length, `${JSON.stringify(records)}\n${log}`).toBeGreaterThanOrEqual(3);
      expect(records.at(-1)).toMatchObject({ decision: "succeeded", attempt: null });
      const events = readFileSync(join(run, "events.jsonl"), "utf8")
        .trimEnd()
        .split("\n")
        .map((line): Record<string, unknown> => JSON.parse(line));
      const of = (type: string, attempt: number): Record<string, unknown> | undefined =>
        events.findLast((event) => event["type"] === type && event["attempt"] === attempt);
      for (const [index, record] of started.entries()) {
        const attempt = index + 1;
        expect(record).toMatchObject({ attempt, link: attempt });
        const isLast = attempt === started.length;
        // Stopped by Slurm's signal, saved, and gone on from exactly there.
        expect(of("stopped", attempt)?.["reason"]).toBe(isLast ? undefined : "stop-file");
        expect(of("checkpoint", attempt)?.["step"]).toBe(
          isLast ? TRAINING.steps : of("stopped", attempt)?.["step"],
        );
        if (attempt > 1) expect(of("resumed", attempt)?.["step"]).toBe(of("stopped", attempt - 1)?.["step"]);
        expect(readJson(join(run, `attempts/${attempt}/result.json`))).toMatchObject({
          exitCode: isLast ? 0 : 3,
        });
      }
      const steps = events.filter(({ type }) => type === "step").map(({ step }) => step);
      expect(steps).toEqual(Array.from({ length: TRAINING.steps }, (_, index) => index + 1));
    },
    15 * MINUTES,
  );
});

const SHARDS = `import sys
from pathlib import Path
from support.corpus import greenroom, write_shard
write_shard(Path(sys.argv[1]) / "train.parquet", greenroom(4))
write_shard(Path(sys.argv[1]) / "dev.parquet", greenroom(1, 50))
`;

const TRAINING = {
  mode: "lora",
  precision: "bf16",
  learningRate: 0.01,
  weightDecay: 0,
  maxGradNorm: 1,
  schedule: "cosine",
  warmupFraction: 0.1,
  steps: 14,
  globalBatch: 4,
  microBatch: 2,
  evalEverySteps: 500,
  saveEverySteps: 500,
  logEverySteps: 1,
  maxTokens: 2048,
  gradientCheckpointing: false,
  lora: { rank: 8, alpha: 16, dropout: 0.05 },
  zero: 0,
  dataLoaderWorkers: 0,
  seed: 3,
};
