import { join } from "node:path";
import { InternalError } from "../../core/errors.ts";
import type { AttemptLayout } from "../attempt-layout.ts";
import type { FarProfile } from "../profile.ts";
import type { Job, JobInput } from "../schema.ts";

type Argv = readonly [string, ...string[]];
interface Place {
  readonly job: Job;
  readonly profile: FarProfile;
  readonly layout: AttemptLayout;
}

/** A program after the steps that make sure of inputs nobody here has sent; each step ends by running the next. */
export const withStagedInputs = (program: Argv, place: Place): Argv => {
  const { job, profile } = place;
  const theirs = job.inputs.filter((input) => input.source === null && input.role !== "payload");
  const fetched =
    profile.stage.model === "node-download" ? theirs.filter(({ role }) => role === "model") : [];
  const matched = theirs.filter((input) => !fetched.includes(input));
  return withDownload(withTrust(program, place, matched), place, fetched);
};

/** Where `secretFile` puts the hub's token for the download step of a run, where there is one: read once, then deleted. */
export const tokenFolder = (job: Pick<Job, "runFolder">): string => join(job.runFolder, "secrets");

// Hashed once by the job itself, never on a login node; afterwards known by size and time of change.
function withTrust(program: Argv, { job, profile, layout }: Place, inputs: readonly JobInput[]): Argv {
  if (inputs.length === 0) return program;
  return [
    "/bin/sh",
    join(job.payload, "far", "trust.sh"),
    "hash",
    "--events",
    layout.events,
    "--records",
    join(profile.paths.env, "trust"),
    "--umask",
    profile.umask,
    ...inputs.flatMap(({ bytes, sha256, path }) => [
      "--file",
      String(bytes),
      sha256 === "" ? "-" : sha256,
      path,
    ]),
    "--",
    ...program,
  ];
}

function withDownload(program: Argv, { job, profile, layout }: Place, inputs: readonly JobInput[]): Argv {
  if (profile.stage.model !== "node-download") return program;
  const { path, repository, revision } = hubModel(job);
  return [
    profile.container === undefined ? job.python : profile.python,
    join(job.payload, "far", "download.py"),
    "--repository",
    repository,
    "--revision",
    revision,
    "--folder",
    path,
    "--token-folder",
    tokenFolder(job),
    "--events",
    layout.events,
    "--umask",
    profile.umask,
    ...(profile.group === undefined ? [] : ["--group", profile.group]),
    ...inputs.flatMap(({ bytes, sha256, path: file }) => [
      "--file",
      String(bytes),
      sha256 === "" ? "-" : sha256,
      file,
    ]),
    "--",
    ...program,
  ];
}

/** Repository, revision and folder of the weights, out of a job's manifest: `model.revision` is `OWNER/NAME@REVISION`. */
export const hubModel = (
  job: Job,
): { readonly path: string; readonly repository: string; readonly revision: string } => {
  const model = job.manifest["model"];
  const { path, revision: pinned } = isModel(model) ? model : { path: "", revision: "" };
  const [, repository, revision] = /^([\w.-]+\/[\w.-]+)@([\w.-]+)$/.exec(pinned) ?? [];
  if (repository !== undefined && revision !== undefined) return { path, repository, revision };
  throw new InternalError(
    "MODEL_NOT_ON_HUB",
    `"${pinned}" names no repository and revision of the model hub`,
  );
};

function isModel(value: unknown): value is { path: string; revision: string } {
  if (typeof value !== "object" || value === null || !("path" in value) || !("revision" in value))
    return false;
  return typeof value.path === "string" && typeof value.revision === "string";
}
