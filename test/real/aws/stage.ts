import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { runUnderstudy, type RunOutcome } from "../../support/run-understudy.ts";
import { makeDataStage } from "../../workflow/data-stage.ts";
import { repository, type Stage } from "../../workflow/support.ts";
import { CREDENTIALS } from "./bucket-sync.ts";
import { startService, type Service } from "./service.ts";

export const BUCKET = "us-bucket";
const adapter = join(repository, "launchers/payload/understudy_payload");

/** A project with a profile `cloud`, whose containers run the real adapter with the stand-in payload. */
export interface AwsStage {
  readonly stage: Stage;
  readonly service: Service;
  /** What the command line's own process has in its environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A command in this process, as a controller that has just been started. */
  readonly run: (...words: readonly string[]) => Promise<RunOutcome>;
  /** One that must end well. */
  readonly done: (...words: readonly string[]) => Promise<RunOutcome>;
}

const SHORT = ["training.duration.steps=4", "evaluation.everySteps=2", "training.globalBatch=4"];
export const START = ["run", "start", "recipes/quickstart.yaml", ...SHORT.flatMap((one) => ["--set", one])];

export const makeAwsStage = async (
  python: string,
  settings = "",
  variables: Readonly<Record<string, string>> = {},
): Promise<AwsStage> => {
  const stage = await makeDataStage();
  const payload = join(stage.project.launchers, "payload/understudy_payload");
  for (const name of readdirSync(adapter).filter((one) => /^sagemaker.*\.py$/.test(one)))
    cpSync(join(adapter, name), join(payload, name));
  const folder = join(stage.project.root, "service");
  mkdirSync(folder);
  const image = {
    python,
    payload: join(stage.project.launchers, "payload"),
    environment: { HOME: stage.home },
  };
  const service = await startService(python, folder, image);
  onTestFinished(async () => service.close());
  await service.bucket.create(BUCKET);
  writeFileSync(
    join(stage.project.launchers, "cloud.yaml"),
    `schemaVersion: 1
kind: sagemaker
region: us-east-1
role: arn:aws:iam::123456789012:role/training
image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/image@sha256:${"a".repeat(64)}
imageHasPayload: true
bucket: ${BUCKET}
instanceType: ml.m5.large
processes: 1
device: cpu
graceSeconds: 12
pollSeconds: 1
endpoint: ${service.url}
${settings}`,
  );
  const environment = {
    ...stage.environment,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    ...variables,
  };
  const run = async (...words: readonly string[]): Promise<RunOutcome> =>
    runUnderstudy(words, { cwd: stage.project.root, environment });
  const done = async (...words: readonly string[]): Promise<RunOutcome> => {
    const outcome = await run(...words);
    if (outcome.exitCode === 0) return outcome;
    throw new Error(`${words.join(" ")} ended with ${outcome.exitCode}: ${outcome.stderr}`);
  };
  return { stage, service, environment, run, done };
};
