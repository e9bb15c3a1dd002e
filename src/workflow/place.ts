import { join } from "node:path";
import { InternalError } from "../core/errors.ts";
import type { Job, LauncherProfile } from "../launch/index.ts";
import { placeOnMachine } from "./place-machine.ts";
import { placeOnSageMaker } from "./place-sagemaker.ts";

/** A file of a folder, as it is known on this machine. */
export interface KnownFile {
  /** Relative to its folder, with `/` between the parts. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface KnownFolder {
  /** On this machine; null where only the names and digests of its files are known. */
  readonly folder: string | null;
  readonly files: readonly KnownFile[];
}

export interface PlaceModel extends KnownFolder {
  /** What the manifest says: `id@commit`, or the digest of a model that is made here. */
  readonly revision: string;
  /** Repository and commit of published weights; null for one that is made here. */
  readonly hub: { readonly id: string; readonly revision: string } | null;
}

export interface PlaceData {
  readonly name: string;
  /** Digest of the data set's lock. */
  readonly digest: string;
  /** Folder of the packed shards on this machine. */
  readonly folder: string;
  readonly train: readonly KnownFile[];
  readonly dev: readonly KnownFile[];
}

/** Everything a job is placed from; all of it is known before any other machine is asked. */
export interface PlaceRequest {
  readonly runId: string;
  readonly profile: LauncherProfile;
  readonly payload: {
    readonly digest: string;
    readonly folder: string;
    readonly files: readonly KnownFile[];
  };
  readonly data: PlaceData;
  readonly model: PlaceModel;
  /** Text of the payload's lock files by name: an environment is one for each of their contents. */
  readonly locks: Readonly<Record<string, string>>;
  /** Of this machine, for profiles of kind local. */
  readonly here: { readonly python: string; readonly runFolder: string };
}

/** A job's places on the machine that runs it, and what has to be sent there. */
export interface Placement extends Pick<
  Job,
  "runFolder" | "payload" | "python" | "inputs" | "environment" | "secrets"
> {
  readonly model: { readonly path: string; readonly revision: string };
  readonly train: readonly string[];
  readonly dev: readonly string[];
  readonly device: "auto" | "cpu" | "cuda";
}

/** Where everything of a job lies on the machine that runs it. Pure; `placeProblems` tells what cannot be. */
export const placeJob = (request: PlaceRequest): Placement => {
  const { profile } = request;
  switch (profile.kind) {
    case "local":
      return placeHere(request);
    case "ssh":
    case "slurm":
      return placeOnMachine(request, profile);
    case "sagemaker":
      return placeOnSageMaker(request, profile);
    default:
      return unknownKind(profile);
  }
};

function placeHere({ payload, data, model, here, profile }: PlaceRequest): Placement {
  if (model.folder === null) {
    throw new InternalError("MODEL_UNPLACED", "The model of a job of this machine has no folder");
  }
  const local = (files: readonly KnownFile[]): string[] => files.map(({ path }) => join(data.folder, path));
  return {
    runFolder: here.runFolder,
    payload: payload.folder,
    python: here.python,
    inputs: [],
    environment: null,
    secrets: [],
    model: { path: model.folder, revision: model.revision },
    train: local(data.train),
    dev: local(data.dev),
    device: profile.device,
  };
}

function unknownKind(profile: never): never {
  throw new InternalError("PROFILE_KIND", `A job cannot be placed for ${JSON.stringify(profile)}`);
}
