import type { Job, JobInput } from "../schema.ts";
import type { SageMakerProfile } from "./launcher.ts";

/** Where the service puts things inside a container. */
export const CHECKPOINTS = "/opt/ml/checkpoints";
const CHANNELS = "/opt/ml/input/data";

/** One input of the job: a folder of the bucket, seen as `/opt/ml/input/data/NAME` in the container. */
export interface Channel {
  readonly name: string;
  /** Key of the folder. On a filesystem the same folder below its own root. */
  readonly key: string;
  /** Keys below the folder, where only these are wanted; null: all of it. */
  readonly only: readonly string[] | null;
  readonly how: "copied" | "streamed" | "mounted";
}

export interface ContainerPaths {
  /** A path as the container sees it. Keys of the bucket are mapped to the channel that brings them; others stay. */
  readonly inside: (path: string) => string;
  /** In the order of their names; of keys that are no input once they were looked up. */
  readonly channels: () => readonly Channel[];
}

/**
 * Channels of a job: one for each role of its inputs. Manifests say where the container sees a file; a key of the bucket
 * in them (`s3://bucket/…`, a checkpoint of another run) gets a channel of its own.
 */
export const containerPaths = (job: Job, profile: SageMakerProfile): ContainerPaths => {
  const own = roleChannels(job, profile);
  const others = new Map<string, Channel>();
  const uri = `s3://${profile.bucket}/`;
  const inside = (path: string): string => {
    if (!path.startsWith(uri)) return path;
    const key = keyOf(path, profile);
    const channel = own.find((one) => below(one.key, key) !== undefined);
    if (channel === undefined) return other(key, profile, others);
    return joined(`${CHANNELS}/${channel.name}`, below(channel.key, key) ?? "");
  };
  return {
    inside,
    channels: () => [...own, ...others.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
};

/** A key without what names its bucket. */
export const keyOf = (path: string, { bucket }: Pick<SageMakerProfile, "bucket">): string => {
  const uri = `s3://${bucket}/`;
  return (path.startsWith(uri) ? path.slice(uri.length) : path).replaceAll(/^\/+|\/+$/g, "");
};

function roleChannels(job: Job, profile: SageMakerProfile): readonly Channel[] {
  const named = stringsIn(job.manifest);
  return (["data", "model", "payload"] as const).flatMap((role): Channel[] => {
    const keys = keysOf(job.inputs, role, profile);
    if (keys.length === 0 || (role === "payload" && profile.imageHasPayload)) return [];
    const key = rootOf(role, keys, named);
    const how = role === "payload" ? "copied" : howOf(profile);
    // Streaming lists a folder and reads what is opened; copying all of it could bring other runs' data along.
    const only = how === "copied" && role !== "payload" ? keys.map((one) => below(key, one) ?? one) : null;
    return [{ name: role, key, only, how }];
  });
}

const keysOf = (
  inputs: readonly JobInput[],
  role: JobInput["role"],
  profile: SageMakerProfile,
): readonly string[] => inputs.filter((input) => input.role === role).map(({ path }) => keyOf(path, profile));

function howOf({ input }: SageMakerProfile): Channel["how"] {
  if (input.from === "fsx") return "mounted";
  return input.mode === "FastFile" ? "streamed" : "copied";
}

// A file that the manifest names tells which part of its key is the channel's; else it is what all keys share.
function rootOf(role: string, keys: readonly string[], named: readonly string[]): string {
  for (const path of named) {
    const rest = below(`${CHANNELS}/${role}`, path);
    const key = rest === undefined || rest === "" ? undefined : keys.find((one) => one.endsWith(`/${rest}`));
    if (key !== undefined && rest !== undefined) return key.slice(0, -rest.length - 1);
  }
  const shared = commonFolder(keys);
  return role === "payload" ? shared.replace(/(^|\/)understudy_payload(\/.*)?$/, "") : shared;
}

function other(key: string, profile: SageMakerProfile, others: Map<string, Channel>): string {
  const last = key.slice(key.lastIndexOf("/") + 1);
  // Files have an ending (shards), folders have none (checkpoints, answers).
  const isFile = /\.[a-z][a-z0-9]*$/.test(last);
  const folder = isFile ? key.slice(0, -last.length - 1) : key;
  const found = others.get(folder) ?? {
    name: `other-${others.size + 1}`,
    key: folder,
    only: null,
    how: profile.input.from === "s3" && profile.input.mode === "FastFile" ? "streamed" : "copied",
  };
  others.set(folder, found);
  return joined(`${CHANNELS}/${found.name}`, isFile ? last : "");
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

function commonFolder(keys: readonly string[]): string {
  const [first = [], ...rest] = keys.map((key) => key.split("/").slice(0, -1));
  const parts = [...first];
  for (const folder of rest) {
    const differs = parts.findIndex((part, index) => folder[index] !== part);
    if (differs !== -1) parts.length = differs;
  }
  return parts.join("/");
}

function below(folder: string, path: string): string | undefined {
  if (path === folder || folder === "") return path === folder ? "" : path;
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

const joined = (folder: string, rest: string): string => (rest === "" ? folder : `${folder}/${rest}`);
