import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { markerOf, planText, type Job, type JobInput, type Plan } from "../../../src/launch/index.ts";
import { planSageMaker } from "../../../src/launch/sagemaker/plan.ts";
import { profileWith } from "./support.ts";

const input = (role: JobInput["role"], path: string): JobInput => ({
  role,
  path,
  source: `/here/${path}`,
  bytes: 10,
  sha256: "0".repeat(64),
});
const inputs = [
  input("payload", "understudy/payloads/1a2b/understudy_payload/train.py"),
  input("payload", "understudy/payloads/1a2b/requirements.lock"),
  input("data", "understudy/data/3c4d/shards/train-0.parquet"),
  input("data", "understudy/data/3c4d/shards/dev-0.parquet"),
  input("model", "understudy/models/qwen-5e6f/config.json"),
  input("model", "understudy/models/qwen-5e6f/model.safetensors"),
];
const jobWith = (settings: Readonly<Record<string, unknown>>, changes: Partial<Job> = {}): Job => ({
  kind: "train",
  runId: "20260131-101500-agent",
  runFolder: "/opt/ml/checkpoints",
  manifest: {
    schemaVersion: 1,
    kind: "train",
    run: "20260131-101500-agent",
    model: { path: "/opt/ml/input/data/model", revision: "r" },
    data: {
      train: ["/opt/ml/input/data/data/shards/train-0.parquet"],
      dev: ["/opt/ml/input/data/data/shards/dev-0.parquet"],
    },
    training: { globalBatch: 32, microBatch: 1, saveEverySteps: 500 },
  },
  python: "python3",
  payload: "/opt/ml/input/data/payload",
  profile: profileWith(settings),
  diskBytes: 4e9,
  secrets: [],
  inputs,
  environment: null,
  ...changes,
});
const planOf = (
  settings: Readonly<Record<string, unknown>>,
  changes: Partial<Job> = {},
  number = 1,
): Plan => {
  const job = jobWith(settings, changes);
  const attempt = { number, marker: markerOf(job.runId, number), token: "token" };
  return planSageMaker(job, attempt, profileWith(settings));
};
const golden = async (plan: Plan, name: string): Promise<void> => {
  await expect(`${JSON.stringify(plan.request, null, 2)}\n`).toMatchFileSnapshot(
    join(import.meta.dirname, "goldens", name),
  );
};
const channel = (plan: Plan, name: string): unknown => {
  const channels: unknown = plan.request?.["InputDataConfig"];
  if (!Array.isArray(channels)) throw new Error("no channels");
  return channels.find(
    (one: unknown) =>
      typeof one === "object" && one !== null && "ChannelName" in one && one.ChannelName === name,
  );
};

describe("the request", () => {
  it("of eight GPUs with our image", async () => {
    await golden(
      planOf({ instanceType: "ml.p5.48xlarge", processes: 8, imageHasPayload: true, volumeGigabytes: 500 }),
      "image.json",
    );
  });

  it("of a deep-learning container, spot, in a VPC, with keys, tags and secrets", async () => {
    const secrets = { HF_TOKEN: "arn:aws:secretsmanager:us-east-1:123456789012:secret:hf-AbCdEf" };
    const settings = {
      instanceType: "ml.g5.12xlarge",
      processes: 4,
      spot: { maxWaitSeconds: 200_000 },
      subnets: ["subnet-1", "subnet-2"],
      securityGroups: ["sg-1"],
      kmsKey: "arn:aws:kms:us-east-1:123456789012:key/1",
      tags: { team: "speech" },
      secrets,
      input: { from: "s3", mode: "File" },
      threads: 12,
    };
    const plan = planOf(settings, { secrets: ["HF_TOKEN"] });
    await golden(plan, "container.json");
    expect(planText(plan)).toContain("HF_TOKEN");
  });

  it("of a file system and a training plan", async () => {
    const settings = {
      instanceType: "ml.m5.large",
      instances: 2,
      kmsKey: "alias/own",
      trainingPlan: "arn:aws:sagemaker:us-east-1:123456789012:training-plan/tp",
      subnets: ["subnet-1"],
      securityGroups: ["sg-1"],
      input: { from: "fsx", fileSystemId: "fs-0123", directoryPath: "/fsx/understudy" },
    };
    const plan = planOf(settings);
    await golden(plan, "file-system.json");
    // What lies there cannot be sent from here.
    expect(new Set(plan.uploads.map(({ role }) => role))).toEqual(new Set(["payload"]));
  });

  it("keeps checkpoints by run, whatever the attempt", () => {
    const places = [1, 2, 17].map((number) => planOf({}, {}, number).request?.["CheckpointConfig"]);
    expect(new Set(places.map((place) => JSON.stringify(place)))).toEqual(
      new Set([
        '{"S3Uri":"s3://us-bucket/understudy/runs/20260131-101500-agent/","LocalPath":"/opt/ml/checkpoints"}',
      ]),
    );
  });

  it("copies the named files alone, and streams a folder", () => {
    const copied = planOf({ input: { from: "s3", mode: "File" } });
    expect(channel(copied, "data")).toMatchObject({
      InputMode: "File",
      DataSource: { S3DataSource: { S3DataType: "ManifestFile" } },
    });
    const list = copied.files.find(({ path }) => path.endsWith("channel-data.json"));
    expect(JSON.parse(list?.text ?? "")).toEqual([
      { prefix: "s3://us-bucket/understudy/data/3c4d/" },
      "shards/dev-0.parquet",
      "shards/train-0.parquet",
    ]);
    expect(channel(planOf({}), "data")).toMatchObject({
      InputMode: "FastFile",
      DataSource: { S3DataSource: { S3DataType: "S3Prefix", S3Uri: "s3://us-bucket/understudy/data/3c4d/" } },
    });
  });

  it("brings a checkpoint of another run by a channel of its own", () => {
    const checkpoint = "s3://us-bucket/understudy/runs/other/output/checkpoint-500";
    const plan = planOf({}, { manifest: { kind: "train", checkpoint } });
    expect(channel(plan, "other-1")).toMatchObject({
      DataSource: { S3DataSource: { S3Uri: `${checkpoint}/` } },
    });
    expect(plan.files[0]?.text).toContain('"checkpoint": "/opt/ml/input/data/other-1"');
  });

  it("unpacks a payload that is one archive, by a constant script", () => {
    const archive = input("payload", "understudy/payloads/1a2b/$(touch x) payload.tar.gz");
    const plan = planOf({}, { inputs: [archive] });
    expect(plan.request?.["AlgorithmSpecification"]).toMatchObject({
      ContainerEntrypoint: ["/bin/sh", "-c", expect.not.stringContaining("touch"), "understudy"],
      ContainerArguments: ["/opt/ml/input/data/payload/$(touch x) payload.tar.gz"],
    });
  });

  it("has a mark of what it asks for: it differs with the job, and not with the time", () => {
    const mark = (plan: Plan): string => JSON.stringify(plan.request?.["Tags"]);
    expect(mark(planOf({}))).toBe(mark(planOf({})));
    expect(mark(planOf({ volumeGigabytes: 2 }))).not.toBe(mark(planOf({})));
    expect(mark(planOf({}, { diskBytes: 5e9 }))).not.toBe(mark(planOf({})));
  });
});
