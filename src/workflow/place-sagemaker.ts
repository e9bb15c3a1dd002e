import { posix } from "node:path";
import type { JobInput, ProfileOf } from "../launch/index.ts";
import { folderName, IN_IMAGE } from "./place-machine.ts";
import type { KnownFile, KnownFolder, Placement, PlaceRequest } from "./place.ts";

/** SageMaker keeps this folder in step with the bucket, for all attempts of a run. */
const CHECKPOINTS = "/opt/ml/checkpoints";
const CHANNELS = "/opt/ml/input/data";

/** Channels of a training job: what lies below one key of the bucket appears below one folder of the container. */
export const CHANNEL_ROLES = ["payload", "data", "model"] as const;
type Role = (typeof CHANNEL_ROLES)[number];

/** A folder in the bucket, and the same folder as the container sees it. */
export interface Channel {
  readonly role: Role;
  /** Key prefix in the bucket, without a slash at its end. */
  readonly key: string;
  readonly folder: string;
}

/**
 * The channels of a run. Payload and data are keyed by their digests, weights by their revision: runs share them, and nothing
 * is overwritten. A channel holds exactly one of them, for SageMaker shows a job everything below the key.
 */
export const channelsOf = (
  profile: Pick<ProfileOf<"sagemaker">, "prefix">,
  named: { readonly payload: string; readonly data: string; readonly model: string },
): Readonly<Record<Role, Channel>> => {
  const channel = (role: Role, ...parts: readonly string[]): Channel => ({
    role,
    key: [profile.prefix.replaceAll(/^\/+|\/+$/g, ""), ...parts].filter((part) => part !== "").join("/"),
    folder: posix.join(CHANNELS, role),
  });
  return {
    payload: channel("payload", "payloads", named.payload.slice(0, 16)),
    data: channel("data", "data", named.data.slice(0, 16)),
    model: channel("model", "models", folderName(named.model)),
  };
};

/** Places for a training job: inputs are keys of the bucket, everything else is as the container sees it. */
export const placeOnSageMaker = (request: PlaceRequest, profile: ProfileOf<"sagemaker">): Placement => {
  const { payload, data, model } = request;
  const channels = channelsOf(profile, {
    payload: payload.digest,
    data: data.digest,
    model: model.revision,
  });
  const inChannel = (files: readonly KnownFile[]): string[] =>
    files.map(({ path }) => posix.join(channels.data.folder, path));
  const shards: KnownFolder = { folder: data.folder, files: [...data.train, ...data.dev] };
  // A file system that is mounted holds data and weights already; its folders are named as the keys are.
  const lies = profile.input.from === "fsx";
  return {
    runFolder: CHECKPOINTS,
    payload: channels.payload.folder,
    python: profile.imageHasPayload ? posix.join(IN_IMAGE, "env/bin/python") : "python3",
    inputs: [
      ...keysOf(channels.payload, payload),
      ...keysOf(channels.data, lies ? { ...shards, folder: null } : shards),
      ...keysOf(channels.model, lies ? { ...model, folder: null } : model),
    ],
    environment: null,
    secrets: [],
    model: { path: channels.model.folder, revision: model.revision },
    train: inChannel(data.train),
    dev: inChannel(data.dev),
    device: profile.device === "cpu" ? "cpu" : "cuda",
  };
};

/**
 * The profile of jobs that are one process on one GPU: one instance, of the kind that the profile has for them. Spot and its
 * waiting time stay as they are; reserved capacity is for the machine that trains.
 */
export const profileOfEvaluation = (profile: ProfileOf<"sagemaker">): ProfileOf<"sagemaker"> => {
  const one = { ...profile, instances: 1, processes: 1 };
  if (profile.evaluation === undefined) return one;
  const { instanceType, volumeGigabytes, maxRuntimeSeconds } = profile.evaluation;
  const { trainingPlan, ...open } = one;
  return {
    ...(instanceType === profile.instanceType && trainingPlan !== undefined ? one : open),
    instanceType,
    volumeGigabytes: volumeGigabytes ?? profile.volumeGigabytes,
    maxRuntimeSeconds: maxRuntimeSeconds ?? profile.maxRuntimeSeconds,
  };
};

function keysOf({ role, key }: Channel, { folder, files }: KnownFolder): JobInput[] {
  return files.map(({ path, bytes, sha256 }) => ({
    role,
    path: posix.join(key, path),
    source: folder === null ? null : posix.join(folder, path),
    bytes,
    sha256,
  }));
}
