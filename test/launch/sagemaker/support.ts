import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { sha256 } from "../../../src/core/hash.ts";
import {
  LauncherProfile,
  openLauncher,
  type Job,
  type JobInput,
  type JobRef,
  type Launcher,
  type Plan,
  type ProfileOf,
} from "../../../src/launch/index.ts";
import { standIn, temporaryFolder, type Step } from "../support.ts";
import { CREDENTIALS } from "../../real/aws/bucket-sync.ts";
import type { Image } from "../../real/aws/container.ts";
import { startService, type Service } from "../../real/aws/service.ts";

const root = resolve(import.meta.dirname, "../../..");
const adapter = join(root, "launchers/payload/understudy_payload");

export const ROLE = "arn:aws:iam::123456789012:role/training";
export const IMAGE = `123456789012.dkr.ecr.us-east-1.amazonaws.com/understudy@sha256:${"a".repeat(64)}`;

/** A profile with what every one needs. */
export const profileWith = (settings: Readonly<Record<string, unknown>> = {}): ProfileOf<"sagemaker"> => {
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "sagemaker",
    region: "us-east-1",
    role: ROLE,
    image: IMAGE,
    bucket: "us-bucket",
    instanceType: "ml.m5.large",
    processes: 1,
    volumeGigabytes: 1,
    graceSeconds: 12,
    pollSeconds: 1,
    ...settings,
  });
  if (profile.kind !== "sagemaker") throw new Error("not a profile of SageMaker");
  return profile;
};

// That a secret has come is told by its digest.
const TELLS = `import hashlib, os
if "PLANTED_SECRET" in os.environ:
    print(hashlib.sha256(os.environ["PLANTED_SECRET"].encode()).hexdigest(), flush=True)
`;

/** The stand-in payload with the real adapter beside it. */
export const standInContainer = (folder: string): string => {
  const payload = standIn(folder);
  for (const name of readdirSync(adapter).filter((one) => /^sagemaker.*\.py$/.test(one)))
    copyFileSync(join(adapter, name), join(payload, "understudy_payload", name));
  writeFileSync(join(payload, "understudy_payload/__init__.py"), TELLS);
  return payload;
};

/** The files of a payload as inputs of a job. */
export const payloadInputs = (payload: string): readonly JobInput[] => {
  const folder = join(payload, "understudy_payload");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(".py") && statSync(path).isFile())
    .toSorted()
    .map((path) => ({
      role: "payload",
      path: join("understudy/payloads/p1", relative(payload, path)),
      source: path,
      bytes: statSync(path).size,
      sha256: sha256(readFileSync(path)),
    }));
};

let runs = 0;

/** A job of a new run whose payload follows a script. */
export const jobFor = (
  profile: ProfileOf<"sagemaker">,
  inputs: readonly JobInput[],
  script: readonly Step[],
  changes: Partial<Job> = {},
): Job => {
  const runId = `run-${process.pid}-${(runs += 1)}`;
  return {
    kind: "score",
    runId,
    runFolder: "/opt/ml/checkpoints",
    manifest: { schemaVersion: 1, kind: changes.kind ?? "score", run: runId, script },
    python: "python3",
    payload: "/opt/ml/input/data/payload",
    profile,
    diskBytes: 1,
    secrets: [],
    inputs,
    environment: null,
    ...changes,
  };
};

export const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  TEST_STRAY: "leaked",
};

export interface AwsBench {
  readonly service: Service;
  readonly profile: ProfileOf<"sagemaker">;
  readonly launcher: Launcher;
  readonly payload: string;
  readonly folder: string;
  job(script: readonly Step[], changes?: Partial<Job>): Job;
  /** Another launcher on the same service: a controller that was started again. */
  another(settings?: Readonly<Record<string, unknown>>, clock?: Clock): Promise<Launcher>;
  close(): Promise<void>;
}

/** A service, a bucket and a launcher for the tests of one file. */
export const awsBench = async (
  python: string,
  settings: Readonly<Record<string, unknown>> = {},
  image?: Image,
): Promise<AwsBench> => {
  const folder = temporaryFolder();
  const service = await startService(python, folder.path, image);
  const profile = profileWith({ endpoint: service.url, ...settings });
  await service.bucket.create(profile.bucket);
  const payload = standInContainer(folder.path);
  const inputs = payloadInputs(payload);
  const another = async (
    changes: Readonly<Record<string, unknown>> = {},
    clock: Clock = systemClock,
  ): Promise<Launcher> =>
    openLauncher({ ...profile, ...changes }, { clock, environment: ENVIRONMENT, payload });
  const launcher = await another();
  return {
    service,
    profile,
    launcher,
    payload,
    folder: folder.path,
    job: (script, changes) => jobFor(profile, inputs, script, changes),
    another,
    close: async () => {
      await launcher.close();
      await service.close();
      folder.remove();
    },
  };
};

/** Submits a plan that must be accepted. */
export const accepted = async (
  launcher: Launcher,
  plan: Plan,
): Promise<Extract<JobRef, { kind: "sagemaker" }>> => {
  const answer = await launcher.submit(plan);
  const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
  if (ref?.kind !== "sagemaker") throw new Error(`not accepted: ${JSON.stringify(answer)}`);
  return ref;
};
