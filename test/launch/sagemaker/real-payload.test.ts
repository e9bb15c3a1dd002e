import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { jobKey, type Job, type JobInput, type Observation } from "../../../src/launch/index.ts";
import { testPython } from "../../support/python.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { attemptOf } from "../support.ts";
import { accepted, awsBench, type AwsBench } from "./support.ts";
import type { SageMakerRef } from "./watching.ts";

const payload = resolve(import.meta.dirname, "../../../launchers/payload");
const python = testPython();

// The payload's own tests bring a corpus and a model of a few hundred kilobytes.
const MAKE = `
import sys
from pathlib import Path
from support import corpus
from understudy_payload.tiny import build_tiny_model
folder = Path(sys.argv[1])
build_tiny_model(folder / "model", seed=7)
corpus.write_shard(folder / "data/train.parquet", corpus.greenroom(2))
corpus.write_shard(folder / "data/dev.parquet", corpus.greenroom(1, start=4))
`;

const training = {
  mode: "lora",
  precision: "bf16",
  learningRate: 0.01,
  weightDecay: 0,
  maxGradNorm: 1,
  schedule: "cosine",
  warmupFraction: 0.1,
  steps: 2,
  globalBatch: 4,
  microBatch: 2,
  evalEverySteps: 2,
  saveEverySteps: 2,
  logEverySteps: 1,
  maxTokens: 2048,
  gradientCheckpointing: false,
  lora: { rank: 4, alpha: 8, dropout: 0 },
  zero: 0,
  dataLoaderWorkers: 0,
  seed: 3,
};

const Row = z.object({ dialogue: z.string(), turn: z.int(), nll: z.number() });

awsSuite("the real payload in a container of SageMaker", (moto) => {
  describe.skipIf(python === undefined)("with its environment (UNDERSTUDY_TEST_PYTHON)", () => {
    let bench: AwsBench;
    let inputs: readonly JobInput[];
    beforeAll(async () => {
      bench = await awsBench(
        moto,
        { imageHasPayload: true, device: "cpu" },
        { python: python ?? "", payload, environment: { OMP_NUM_THREADS: "1" } },
      );
      const here = join(bench.folder, "here");
      mkdirSync(join(here, "data"), { recursive: true });
      execFileSync(python ?? "", ["-c", MAKE, here], {
        env: { ...process.env, PYTHONPATH: `${payload}:${join(payload, "tests")}`, OMP_NUM_THREADS: "1" },
        stdio: ["ignore", "ignore", "pipe"],
      });
      inputs = [
        ...inputsOf("model", here, "understudy/models/tiny"),
        ...inputsOf("data", here, "understudy/data/tiny"),
      ];
    }, 240_000);
    afterAll(async () => bench.close());

    const finish = async (job: Job): Promise<SageMakerRef> => {
      expect(bench.launcher.validate(job)).toEqual([]);
      const ref = await accepted(bench.launcher, bench.launcher.plan(job, attemptOf(job)));
      let seen: Observation | undefined;
      while (seen?.phase !== "ended") {
        await systemClock.sleep(500);
        seen = (await bench.launcher.observe([ref])).get(jobKey(ref));
      }
      const log = await bench.launcher
        .artifacts(ref)
        .read("attempts/1/log.txt")
        .catch(() => "");
      expect(seen, Buffer.from(log).toString()).toMatchObject({
        cause: "completed",
        result: { exitCode: 0, reason: "exited" },
      });
      return ref;
    };
    const jobWith = (kind: "train" | "score", more: Readonly<Record<string, unknown>>): Job => {
      const job = bench.job([], { kind, python: "/opt/understudy/env/bin/python", inputs });
      const manifest = {
        schemaVersion: 1,
        kind,
        run: job.runId,
        device: "cpu",
        model: { path: "/opt/ml/input/data/model", revision: "test" },
        prompt: { preamble: "You are a virtual human." },
        ...more,
      };
      return { ...job, manifest };
    };

    it(
      "trains, and scores its checkpoint out of the bucket as a job of its own",
      { timeout: 300_000 },
      async () => {
        const shard = (name: string): string => `/opt/ml/input/data/data/${name}.parquet`;
        const data = { train: [shard("train")], dev: [shard("dev")] };
        const trained = await finish(jobWith("train", { data, training }));
        const uri = `s3://us-bucket/${trained.folder.replace("/attempts/1", "")}/output/checkpoint-2`;
        const task = (id: string, checkpoint: string | null): Readonly<Record<string, unknown>> => ({
          system: { id, checkpoint, speaker: "Chelsie" },
          suite: { id: "test/seen", shards: [shard("dev")], roles: ["pirate", "monk"] },
          output: `/opt/ml/checkpoints/tasks/${id}`,
        });
        const scored = await finish(
          jobWith("score", {
            scoring: { batch: 4, precision: "fp32" },
            tasks: [task("base", null), task("last", uri)],
          }),
        );
        const store = bench.launcher.artifacts(scored);
        const rows = async (id: string): Promise<readonly z.infer<typeof Row>[]> => {
          const text = Buffer.from(await store.read(`tasks/${id}/scores.jsonl`)).toString();
          const done: unknown = JSON.parse(
            Buffer.from(await store.read(`tasks/${id}/_DONE.json`)).toString(),
          );
          expect(done).toMatchObject({ sha256: sha256(text) });
          return text
            .trim()
            .split("\n")
            .map((line) => Row.parse(JSON.parse(line)));
        };
        const [base, last] = [await rows("base"), await rows("last")];
        expect(base.length).toBeGreaterThan(0);
        expect(last.map(({ dialogue, turn }) => [dialogue, turn])).toEqual(
          base.map(({ dialogue, turn }) => [dialogue, turn]),
        );
        // The adapter was found and used.
        expect(last.map(({ nll }) => nll)).not.toEqual(base.map(({ nll }) => nll));
      },
    );
  });
});

function inputsOf(role: "model" | "data", here: string, key: string): readonly JobInput[] {
  const folder = join(here, role);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((source) => ({
      role,
      path: join(key, relative(folder, source)),
      source,
      bytes: statSync(source).size,
      sha256: sha256(readFileSync(source)),
    }));
}
