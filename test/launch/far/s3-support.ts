import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { runProgram } from "../../../src/core/process.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { checkFar, farProgram } from "../../../src/launch/far/index.ts";
import { layoutAt, type Check, type FarProfile, type Job, type JobInput } from "../../../src/launch/index.ts";
import { programPath } from "../../support/real-suite.ts";
import { farJob, here, payload, program, sshProfile, temporaryFolder, world } from "./support.ts";

const REVISION = "ae9e1690543ffd5c0221dc27f79834d0294cba00";
export const MODEL = `Qwen--Qwen2.5-Omni-7B@${REVISION}`;
export const SHARD = Buffer.alloc(3_000_000, "shard");
const FILES: Readonly<Record<string, Buffer>> = {
  "data/greenroom/data/train-00000-of-00001.parquet": SHARD,
  [`models/${MODEL}/config.json`]: Buffer.from("{}"),
  [`models/${MODEL}/model.safetensors`]: Buffer.alloc(500_000, "weights"),
  [`models/${MODEL}/sub/speakers.pt`]: Buffer.from("speakers"),
};
export const SECRET = "planted-secret-access-key";

// Puts every file of a folder into the bucket, under its path.
const FILL = `
import boto3, os, sys
client = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1")
client.create_bucket(Bucket="bucket")
for folder, _, names in os.walk(sys.argv[2]):
    for name in names:
        path = os.path.join(folder, name)
        client.upload_file(path, "bucket", os.path.relpath(path, sys.argv[2]))
`;

// The three questions of the aws command that are asked, over boto3: for machines without the command itself.
const AWS = `#!PYTHON
import boto3, json, os, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("aws-cli/9.9 stand-in"); sys.exit()
given = {words[i]: words[i + 1] for i in range(2, len(words) - 1) if words[i].startswith("--")}
client = boto3.client("s3", endpoint_url=given.get("--endpoint-url"), region_name=given.get("--region", "us-east-1"))
try:
    if words[1] == "head-object":
        print(json.dumps({"ContentLength": client.head_object(Bucket=given["--bucket"], Key=given["--key"])["ContentLength"]}))
    elif words[1] == "list-objects-v2":
        page = client.list_objects_v2(Bucket=given["--bucket"], Prefix=given["--prefix"])
        print(json.dumps({"Contents": [{"Key": i["Key"], "Size": i["Size"]} for i in page.get("Contents", [])]}))
    else:
        body = client.get_object(Bucket=given["--bucket"], Key=given["--key"], Range=given["--range"])["Body"].read()
        open(next(w for w in words[2:] if w.startswith("/")), "wb").write(body)
except Exception as problem:
    sys.exit(str(problem))
`;

export const ACCOUNT = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: SECRET };

/** A server of S3, and a Python that has boto3. */
export interface Server {
  readonly python: string;
  readonly url: string;
}

/** Puts what the tests fetch into a bucket. */
export const fillBucket = async ({ python, url }: Server): Promise<void> => {
  const folder = temporaryFolder().path;
  for (const [path, bytes] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const filled = await runProgram([python, "-c", FILL, url, folder], {
    env: { PATH: process.env["PATH"], ...ACCOUNT },
  });
  expect(filled.exitCode, filled.stderr).toBe(0);
};

export interface Site {
  readonly at: string;
  readonly profile: FarProfile;
  readonly job: Job;
  readonly shard: string;
  readonly model: string;
  start(changes?: Readonly<Record<string, string>>): ReturnType<typeof spawn>;
  fetch(
    changes?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | null; readonly out: string }>;
  events(): string;
  checks(): Promise<readonly Check[]>;
}

/** A node with a Python that has boto3, or with the aws command alone. `listed`: whether the files of the model are known here. */
export const makeSite = (
  { python, url }: Server,
  tool: "boto3" | "aws" | "none" = "boto3",
  { listed = true, changes = {} }: { readonly listed?: boolean; readonly changes?: Partial<JobInput> } = {},
): Site => {
  const at = temporaryFolder().path;
  const bin = join(at, "bin");
  mkdirSync(bin);
  // The environment of a plain Python: none of the packages that this machine may have.
  const bare = program(join(bin, "bare-python"), `#!/bin/sh\nexec '${python}' -S "$@"\n`);
  const real = programPath("aws");
  if (tool === "aws") {
    const text = real === undefined ? AWS.replace("PYTHON", python) : `#!/bin/sh\nexec '${real}' "$@"\n`;
    program(join(bin, "aws"), text);
  }
  const paths = {
    data: `${at}/data`,
    models: `${at}/models`,
    env: `${at}/env`,
    runs: `${at}/runs`,
    tmp: at,
  };
  const profile = sshProfile({
    paths,
    device: "cpu",
    python: tool === "boto3" ? python : bare,
    stage: { model: "s3", data: "s3" },
    s3: { models: "s3://bucket/models", data: "s3://bucket/data", endpoint: url, region: "us-east-1" },
  });
  const model = join(at, "models", MODEL);
  const shard = join(at, "data/shards", `${sha256(SHARD)}.parquet`);
  const inputs = Object.entries(FILES).map(([key, bytes]): JobInput => {
    const isData = key.startsWith("data/");
    return {
      role: isData ? "data" : "model",
      path: isData ? shard : join(at, key),
      source: null,
      bytes: bytes.length,
      sha256: sha256(bytes),
      from: `s3://bucket/${key}`,
      ...(isData ? changes : {}),
    };
  });
  const run = join(at, "run");
  mkdirSync(run);
  const job = farJob({
    profile,
    runFolder: run,
    payload,
    inputs: listed ? inputs : inputs.filter(({ role }) => role === "data"),
    manifest: { model: { path: model, revision: `Qwen/Qwen2.5-Omni-7B@${REVISION}` } },
  });
  const [name, ...args] = farProgram(job, profile, layoutAt(join(run, "attempts/1")), 1).argv;
  const step = args.slice(0, args.indexOf("--") + 1);
  const path = tool === "none" ? `${bin}:/usr/bin:/bin` : `${bin}:${process.env["PATH"]}`;
  const start: Site["start"] = (more = {}) =>
    spawn(name, [...step, "/bin/sh", "-c", 'echo "job runs, AWS: $(env | grep -c ^AWS_)"'], {
      env: {
        PATH: path,
        UNDERSTUDY_HUB_PAUSE: "0.01",
        UNDERSTUDY_JOB: "us-run-1-a1.t",
        ...ACCOUNT,
        ...more,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
  return {
    at,
    profile,
    job,
    shard,
    model,
    start,
    fetch: async (more) => {
      const child = start(more);
      let out = "";
      for (const stream of [child.stdout, child.stderr])
        stream?.on("data", (chunk: Buffer) => (out += chunk.toString()));
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      return { code, out };
    },
    events: () => readFileSync(join(run, "events.jsonl"), "utf8"),
    checks: async () =>
      (await checkFar(here({ PATH: path, ...ACCOUNT }), job, profile, world)).filter(
        ({ name: one }) => one === "s3",
      ),
  };
};

/** Everything lies in its place, and nothing else. */
export const arrived = ({ at, shard }: Site): void => {
  for (const [key, bytes] of Object.entries(FILES)) {
    expect(readFileSync(key.startsWith("data/") ? shard : join(at, key)).equals(bytes), key).toBe(true);
  }
  const names = readdirSync(at, { recursive: true }).map(String);
  expect(names.filter((name) => /\.(part|new)$/.test(name))).toEqual([]);
};
