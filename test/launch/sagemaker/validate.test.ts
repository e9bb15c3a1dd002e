import { describe, expect, it } from "vitest";
import type { Job } from "../../../src/launch/index.ts";
import { hyperParameterProblems } from "../../../src/launch/sagemaker/limits.ts";
import { validateSageMaker } from "../../../src/launch/sagemaker/validate.ts";
import { jobFor, profileWith } from "./support.ts";

const payload = [
  {
    role: "payload" as const,
    path: "understudy/payloads/p/understudy_payload/a.py",
    source: "/a",
    bytes: 1,
    sha256: "0".repeat(64),
  },
];
const codes = (
  settings: Readonly<Record<string, unknown>>,
  changes: Partial<Job> = {},
): readonly string[] => {
  const profile = profileWith(settings);
  return validateSageMaker(jobFor(profile, payload, [], changes), profile).map(({ code }) => code);
};

describe("what is refused without asking anybody", () => {
  it("nothing of a sound job", () => {
    expect(codes({})).toEqual([]);
  });

  it.each([
    ["SPOT_WAIT_SHORT", { spot: { maxWaitSeconds: 100 }, maxRuntimeSeconds: 3600 }],
    ["RUNTIME_TOO_LONG", { maxRuntimeSeconds: 3_000_000 }],
    ["GRACE_TOO_LONG", { graceSeconds: 600 }],
    ["VPC_INCOMPLETE", { subnets: ["subnet-1"] }],
    ["FSX_NEEDS_VPC", { input: { from: "fsx", fileSystemId: "fs-1", directoryPath: "/fsx" } }],
    [
      "PLAN_AND_SPOT",
      { trainingPlan: "arn:aws:sagemaker:us-east-1:1:training-plan/t", spot: { maxWaitSeconds: 200_000 } },
    ],
    ["BUCKET_INVALID", { bucket: "s3://bucket/key" }],
    ["INSTANCE_TYPE_INVALID", { instanceType: "p5.48xlarge" }],
    ["INSTANCE_TYPE_INVALID", { evaluation: { instanceType: "g6e" } }],
    ["TAG_VALUE_TOO_LONG", { tags: { note: "x".repeat(257) } }],
    ["TAG_INVALID", { tags: { "aws:own": "x" } }],
    [
      "TAGS_TOO_MANY",
      { tags: Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`t${index}`, "x"])) },
    ],
  ])("%s", (code, settings) => {
    expect(codes(settings)).toContain(code);
  });

  it("a secret without an ARN, and a payload that nobody sends", () => {
    expect(codes({}, { secrets: ["HF_TOKEN"] })).toContain("SECRET_UNMAPPED");
    expect(
      codes(
        { secrets: { HF_TOKEN: "arn:aws:secretsmanager:us-east-1:1:secret:x" } },
        { secrets: ["HF_TOKEN"] },
      ),
    ).toEqual([]);
    expect(codes({}, { inputs: [] })).toContain("PAYLOAD_UNSENT");
    expect(codes({ imageHasPayload: true }, { inputs: [] })).toEqual([]);
  });

  it("a run's name that no job can have, of 90 characters and odd ones: told, or made legal", () => {
    expect(codes({}, { runId: "SpeechRole_ood/α" })).toContain("RUN_ID_INVALID");
    expect(codes({}, { runId: `SpeechRole_ood.${"a".repeat(75)}` })).toEqual([]);
  });

  it("a batch that the processes of all instances cannot share", () => {
    const manifest = { kind: "train", training: { globalBatch: 12, microBatch: 1 } };
    expect(codes({ processes: 4, instances: 2 }, { kind: "train", manifest })).toContain("BATCH_NOT_WHOLE");
    expect(codes({ processes: 4 }, { kind: "train", manifest })).toEqual([]);
  });

  it("more hyperparameters, or longer ones, than the service takes", () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`h${index}`, "1"]));
    expect(hyperParameterProblems(many).map(({ code }) => code)).toEqual(["HYPERPARAMETERS_TOO_MANY"]);
    const long = { config: "x".repeat(3000), ["k".repeat(300)]: "1" };
    expect(
      hyperParameterProblems(long)
        .map(({ code }) => code)
        .toSorted(),
    ).toEqual(["HYPERPARAMETER_KEY_TOO_LONG", "HYPERPARAMETER_VALUE_TOO_LONG"]);
    expect(hyperParameterProblems(long)[0]?.hint).toContain("file");
  });

  it("an environment value of 700 characters; a manifest of any size is a file", () => {
    const arn = `arn:aws:secretsmanager:us-east-1:1:secret:${"x".repeat(700)}`;
    expect(codes({ secrets: { HF_TOKEN: arn } }, { secrets: ["HF_TOKEN"] })).toContain(
      "ENVIRONMENT_VALUE_TOO_LONG",
    );
    expect(codes({}, { manifest: { kind: "score", long: "x".repeat(100_000) } })).toEqual([]);
  });
});
