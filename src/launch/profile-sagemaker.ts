import { z } from "zod";
import { machine } from "./profile-machine.ts";

const Arn = z.string().regex(/^arn:aws[a-z-]*:\S+$/, "must be an ARN");

export const SageMakerProfile = z.strictObject({
  ...machine,
  kind: z.literal("sagemaker"),
  region: z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/),
  role: Arn.describe("Execution role of the training job"),
  image: z
    .string()
    .describe(
      "Training image in ECR, a deep-learning container or one of yours, as NAME@sha256:DIGEST; the payload is sent along",
    ),
  imageHasPayload: z
    .boolean()
    .default(false)
    .describe("The image is ours and holds the payload's environment; else packages are installed at start"),
  instanceType: z.string().default("ml.p5.48xlarge"),
  instances: z.int().positive().default(1),
  processes: z.int().positive().default(8).describe("Training processes on each instance: one per GPU"),
  volumeGigabytes: z.int().positive().default(500),
  bucket: z.string().min(3).describe("S3 bucket for data, checkpoints, events and output"),
  prefix: z.string().default("understudy").describe("Everything goes below this prefix"),
  input: z
    .discriminatedUnion("from", [
      z.strictObject({ from: z.literal("s3"), mode: z.enum(["File", "FastFile"]).default("FastFile") }),
      z.strictObject({
        from: z.literal("fsx"),
        fileSystemId: z.string(),
        directoryPath: z.string().describe("e.g. /fsx/understudy"),
      }),
    ])
    .default({ from: "s3", mode: "FastFile" }),
  maxRuntimeSeconds: z.int().positive().default(172_800),
  spot: z
    .strictObject({ maxWaitSeconds: z.int().positive().describe("Waiting and running together") })
    .optional()
    .describe("Managed spot training"),
  evaluation: z
    .strictObject({
      instanceType: z.string().describe("e.g. ml.g6e.2xlarge: one GPU that holds the model in bf16"),
      volumeGigabytes: z.int().positive().optional().describe("Default: as for training"),
      maxRuntimeSeconds: z.int().positive().optional().describe("Default: as for training"),
    })
    .optional()
    .describe("Another machine for scoring and answering, which use one GPU; default: one that trains"),
  trainingPlan: Arn.optional().describe("ARN of a training plan with reserved capacity"),
  subnets: z.array(z.string()).default([]),
  securityGroups: z.array(z.string()).default([]),
  kmsKey: z.string().optional().describe("For volumes and output"),
  tags: z.record(z.string(), z.string()).default({}),
  secrets: z
    .record(z.string(), Arn)
    .default({})
    .describe("ARN in Secrets Manager for each secret a job may need; values never travel"),
  endpoint: z.string().optional().describe("Another AWS endpoint, e.g. of a test server"),
  pollSeconds: z.int().positive().default(30).describe("At most one description per job in this time"),
});
