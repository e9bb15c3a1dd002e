import { LauncherProfile } from "../../src/launch/index.ts";
import { placeJob, type KnownFile, type Placement, type PlaceRequest } from "../../src/workflow/place.ts";

export const file = (path: string, digit: string, bytes = 10): KnownFile => ({
  path,
  bytes,
  sha256: digit.repeat(64),
});
export const profile = (settings: object): LauncherProfile =>
  LauncherProfile.parse({ schemaVersion: 1, ...settings });

const paths = { data: "/far/data", models: "/far/models", env: "/far/env", runs: "/far/runs" };
export const SSH = { kind: "ssh", paths, hosts: [{ host: "gpu1" }] };
export const SLURM = { kind: "slurm", paths, time: "12:00:00" };
export const SAGEMAKER = {
  kind: "sagemaker",
  region: "us-east-1",
  role: "arn:aws:iam::123456789012:role/r",
  image: "image",
  bucket: "my-bucket",
};
export const LOCKS = {
  "requirements-torch.lock": "torch\n",
  "requirements-cuda.lock": "cuda\n",
  "requirements.lock": "rest\n",
};

export const requestFor = (settings: object, changes: Partial<PlaceRequest> = {}): PlaceRequest => ({
  runId: "run-1",
  profile: profile(settings),
  payload: {
    digest: "d".repeat(64),
    folder: "/state/payloads/dddd",
    files: [file("wrapper.sh", "1"), file("understudy_payload/train.py", "2")],
  },
  data: {
    name: "greenroom",
    digest: "e".repeat(64),
    folder: "/project/datasets/packed/greenroom",
    train: [file("data/train-0.parquet", "3"), file("data/train-1.parquet", "4")],
    dev: [file("data/dev-0.parquet", "5")],
  },
  model: {
    folder: "/state/models/Qwen--Qwen2.5-Omni-7B@abc",
    files: [file("config.json", "6"), file("model-1.safetensors", "7", 5e9)],
    revision: "Qwen/Qwen2.5-Omni-7B@abc",
    hub: { id: "Qwen/Qwen2.5-Omni-7B", revision: "abc" },
  },
  locks: LOCKS,
  here: { python: "/state/environments/x/bin/python", runFolder: "/state/runs/run-1" },
  ...changes,
});
export const place = (settings: object, changes: Partial<PlaceRequest> = {}): Placement =>
  placeJob(requestFor(settings, changes));
export const pathsOf = (placement: Placement, role: string): string[] =>
  placement.inputs.filter((input) => input.role === role).map(({ path }) => path);
