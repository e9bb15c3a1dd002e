import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { jobKey, type JobInput, type Observation } from "../../../src/launch/index.ts";
import { testPython } from "../../support/python.ts";
import { realSuite } from "../../support/real-suite.ts";
import { attemptOf, sweep } from "../support.ts";
import { sshdBench, type SshdBench } from "./sshd-bench.ts";

const repository = resolve(import.meta.dirname, "../../..");
const payload = join(repository, "launchers", "payload");
const python = testPython();

// The payload's own tests bring a corpus of sixteen dialogues and a model of a few hundred kilobytes.
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

const Complete = z.object({
  step: z.int(),
  worldSize: z.int(),
  files: z.record(z.string(), z.object({ bytes: z.int(), sha256: z.string() })),
});

realSuite("training over SSH", { programs: ["sshd", "ssh", "setsid"], root: true }, () => {
  describe.skipIf(python === undefined)("with the payload's environment (UNDERSTUDY_TEST_PYTHON)", () => {
    let bench: SshdBench;
    let here: string;
    beforeAll(async () => {
      bench = await sshdBench({ asRoot: true, settings: { processes: 2 } });
      here = join(bench.folder, "here");
      mkdirSync(here);
      execFileSync(python ?? "", ["-c", MAKE, here], {
        env: {
          ...process.env,
          PYTHONPATH: `${payload}:${join(payload, "tests")}`,
          HF_HUB_OFFLINE: "1",
          OMP_NUM_THREADS: "1",
        },
        stdio: ["ignore", "ignore", "pipe"],
      });
    }, 240_000);
    afterAll(async () => bench.remove());

    const filesOf = (folder: string): readonly string[] =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.parentPath.includes("__pycache__"))
        .map((entry) => join(entry.parentPath, entry.name));
    const input = (role: JobInput["role"], source: string, path: string): JobInput => ({
      role,
      path,
      source,
      bytes: statSync(source).size,
      sha256: createHash("sha256").update(readFileSync(source)).digest("hex"),
    });

    it(
      "sends model and data, trains with two processes, and brings the checkpoint home",
      { timeout: 300_000 },
      async () => {
        const far = (...parts: readonly string[]): string => join(bench.folder, ...parts);
        const model = filesOf(join(here, "model")).map((source) =>
          input("model", source, far("models", "tiny", relative(join(here, "model"), source))),
        );
        const shards = ["train", "dev"].map((split) =>
          input("data", join(here, `${split}.parquet`), far("data", `${split}.parquet`)),
        );
        const base = bench.job([]);
        const job = bench.job([], {
          kind: "train",
          python: python ?? "",
          payload,
          inputs: [...model, ...shards],
          manifest: {
            schemaVersion: 1,
            kind: "train",
            run: base.runId,
            device: "cpu",
            model: { path: far("models", "tiny"), revision: "test" },
            prompt: { preamble: "You are a virtual human." },
            data: { train: [far("data", "train.parquet")], dev: [far("data", "dev.parquet")] },
            training: {
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
            },
          },
        });
        const { launcher } = bench;
        expect(launcher.validate(job)).toEqual([]);
        const plan = launcher.plan(job, attemptOf(job));
        const answer = await launcher.submit(plan);
        const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
        if (ref === undefined) throw new Error(JSON.stringify(answer));
        let seen: Observation | undefined;
        while (seen?.phase !== "ended") {
          await systemClock.sleep(500);
          seen = (await launcher.observe([ref])).get(jobKey(ref));
        }
        const store = launcher.artifacts(ref);
        const log = await store.read("attempts/1/log.txt").catch(() => new Uint8Array());
        expect(seen.result, Buffer.from(log).toString()).toMatchObject({ exitCode: 0, reason: "exited" });
        const text = async (path: string): Promise<string> => Buffer.from(await store.read(path)).toString();
        const types = (await text("events.jsonl"))
          .trim()
          .split("\n")
          .map((line) => z.object({ type: z.string() }).parse(JSON.parse(line)).type);
        expect(types).toEqual(expect.arrayContaining(["started", "step", "eval", "checkpoint", "finished"]));
        const complete = Complete.parse(JSON.parse(await text("output/checkpoint-2/_COMPLETE.json")));
        expect(complete).toMatchObject({ step: 2, worldSize: 2 });
        for (const [name, { bytes, sha256 }] of Object.entries(complete.files)) {
          const target = join(here, "home", name);
          await store.download(`output/checkpoint-2/${name}`, target);
          expect(statSync(target).size).toBe(bytes);
          expect(createHash("sha256").update(readFileSync(target)).digest("hex")).toBe(sha256);
        }
        await sweep(ref.marker);
      },
    );
  });
});
