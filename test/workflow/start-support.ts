import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { makeDataStage } from "./data-stage.ts";
import { repository, type Stage } from "./support.ts";

const SHORT = [
  "--set",
  "training.duration.steps=4",
  "--set",
  "evaluation.everySteps=2",
  "--set",
  "training.globalBatch=4",
];
export const TINY = ["run", "start", "recipes/quickstart.yaml", ...SHORT];
const REVISION = "ae9e1690543ffd5c0221dc27f79834d0294cba00";
const BASE = `schemaVersion: 1
name: real
description: Published weights on the sample corpus
dataset: { name: greenroom, trainOn: [train] }
model: { kind: hub, id: Qwen/Qwen2.5-Omni-7B, revision: ${REVISION} }
training: { mode: lora, learningRate: 1.0e-4, duration: { steps: 400 }, globalBatch: 8, microBatch: 1 }
evaluation: { everySteps: 100 }
`;
export const REAL = ["run", "start", "recipes/real.yaml"];
const PATHS = "paths: { data: /far/data, models: /far/models, env: /far/env, runs: /far/runs }\n";

/** A stage with the scripts of far machines, and a port that counts who knocks. */
export const makeFarStage = async (): Promise<{
  readonly stage: Stage;
  readonly port: number;
  readonly knocks: () => number;
}> => {
  const stage = await makeDataStage();
  const payload = join(stage.project.launchers, "payload");
  for (const name of ["far", "link.sh", "requirements-cuda.lock"]) {
    cpSync(join(repository, "launchers/payload", name), join(payload, name), { recursive: true });
  }
  writeFileSync(join(stage.project.recipes, "real.yaml"), BASE);
  let knocks = 0;
  const server = createServer((socket) => {
    knocks += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { stage, port: address.port, knocks: () => knocks };
};

export const profile = (stage: Stage, name: string, text: string): void =>
  writeFileSync(join(stage.project.launchers, `${name}.yaml`), `schemaVersion: 1\n${text}`);

export const weights = (stage: Stage): void => {
  const folder = join(stage.project.state, "models", `Qwen--Qwen2.5-Omni-7B@${REVISION}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), "{}");
  writeFileSync(join(folder, "model.safetensors"), "weights");
};

export const run = async (stage: Stage, words: readonly string[]): Promise<RunOutcome> =>
  runUnderstudy(words, { cwd: stage.project.root, environment: stage.environment });

export const ssh = (port: number, more = ""): string =>
  `kind: ssh\nhosts: [{ host: 127.0.0.1, port: ${port} }]\n${PATHS}${more}`;
const sagemaker = (port: number, more = ""): string =>
  "kind: sagemaker\nregion: us-east-1\nrole: arn:aws:iam::123456789012:role/r\nbucket: my-bucket\ngraceSeconds: 110\n" +
  "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/image@sha256:" +
  `${"a".repeat(64)}\nendpoint: http://127.0.0.1:${port}\n${more}`;
const slurm = (port: number, more = ""): string =>
  `kind: slurm\nlogin: { host: 127.0.0.1, port: ${port} }\ntime: "12:00:00"\ngres: gpu:h100:8\n${PATHS}${more}`;

export const KINDS: readonly [string, (port: number, more?: string) => string][] = [
  ["ssh", ssh],
  ["slurm", slurm],
  ["sagemaker", sagemaker],
];
