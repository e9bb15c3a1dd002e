import { posix } from "node:path";
import {
  environmentFolderOf,
  farDevice,
  lockNames,
  type FarProfile,
  type JobEnvironment,
  type JobInput,
} from "../launch/index.ts";
import type { KnownFile, PlaceModel, Placement, PlaceRequest } from "./place.ts";

/** Where an image of ours keeps what a profile stages as `image`. */
export const IN_IMAGE = "/opt/understudy";

/**
 * Places for a machine with folders of its own. Payload and shards lie under their digests and weights under their revision,
 * so that runs share them and nothing is ever overwritten.
 */
export const placeOnMachine = (request: PlaceRequest, profile: FarProfile): Placement => {
  const { runId, payload } = request;
  const { paths, container } = profile;
  const code = posix.join(paths.data, "payloads", payload.digest.slice(0, 16));
  const environment = container === undefined ? environmentOf(request, profile, code) : null;
  const data = dataOf(request, profile);
  const model = modelOf(request.model, profile);
  return {
    runFolder: posix.join(paths.runs, runId),
    payload: code,
    python: environment === null ? profile.python : posix.join(environment.folder, "bin", "python"),
    inputs: [...inputsOf("payload", code, payload), ...data.inputs, ...model.inputs],
    environment,
    // HF_TOKEN is for the download alone: the launcher hands it over, and the payload never sees it.
    secrets: [],
    model: { path: model.path, revision: request.model.revision },
    train: data.train,
    dev: data.dev,
    device: farDevice(profile),
  };
};

function environmentOf({ locks }: PlaceRequest, profile: FarProfile, code: string): JobEnvironment {
  const { python, wheelhouse = null } = profile;
  const device = farDevice(profile);
  const names = lockNames(device);
  return {
    folder: environmentFolderOf(
      profile,
      names.map((name) => locks[name] ?? ""),
    ),
    python,
    locks: names.map((name) => posix.join(code, name)),
    wheelhouse,
    device,
  };
}

interface Placed {
  readonly inputs: readonly JobInput[];
}

function dataOf(
  { data }: PlaceRequest,
  { paths, stage, s3 }: FarProfile,
): Placed & { readonly train: readonly string[]; readonly dev: readonly string[] } {
  const place = ({ path, sha256 }: KnownFile): string => {
    if (stage.data === "image") return posix.join(IN_IMAGE, "data", data.name, path);
    if (stage.data === "existing") return posix.join(paths.data, data.name, path);
    return posix.join(paths.data, "shards", `${sha256}.parquet`);
  };
  const inputs = [...data.train, ...data.dev].map((file): JobInput => ({
    role: "data",
    path: place(file),
    source: ["existing", "s3"].includes(stage.data) ? null : posix.join(data.folder, file.path),
    bytes: file.bytes,
    sha256: file.sha256,
    ...(stage.data === "s3" ? { from: `${s3?.data ?? ""}/${data.name}/${file.path}` } : {}),
  }));
  return {
    train: data.train.map(place),
    dev: data.dev.map(place),
    // What is inside the container cannot be seen from outside of it.
    inputs: stage.data === "image" ? [] : onceEach(inputs),
  };
}

function modelOf(model: PlaceModel, { paths, stage, s3 }: FarProfile): Placed & { readonly path: string } {
  const name = folderName(model.revision);
  const path = posix.join(paths.models, name);
  // A model that is made here is nowhere else.
  const way = model.hub === null && stage.model !== "image" ? "upload" : stage.model;
  if (way === "image") return { path: posix.join(IN_IMAGE, "models", name), inputs: [] };
  const files = inputsOf("model", path, model);
  const addressOf = (file: JobInput): Pick<JobInput, "from"> =>
    way === "s3" ? { from: `${s3?.models ?? ""}/${name}/${posix.relative(path, file.path)}` } : {};
  return {
    path,
    inputs: way === "upload" ? files : files.map((file) => ({ ...file, source: null, ...addressOf(file) })),
  };
}

/** A revision as the name of a folder: `Qwen--Qwen2.5-Omni-7B@COMMIT`. */
export const folderName = (revision: string): string => revision.replaceAll("/", "--");

/** The files of a folder as inputs below another one. */
export const inputsOf = (
  role: JobInput["role"],
  below: string,
  { folder, files }: { readonly folder: string | null; readonly files: readonly KnownFile[] },
): JobInput[] =>
  files.map(({ path, bytes, sha256 }) => ({
    role,
    path: posix.join(below, path),
    source: folder === null ? null : posix.join(folder, path),
    bytes,
    sha256,
  }));

// Two shards with the same bytes are one file under its digest.
function onceEach(inputs: readonly JobInput[]): JobInput[] {
  return [...new Map(inputs.map((input) => [input.path, input])).values()];
}
