import { join, posix } from "node:path";
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
  const stored = theirs.filter(({ from }) => from !== undefined);
  const fetched =
    profile.stage.model === "node-download" ? theirs.filter(({ role }) => role === "model") : [];
  const matched = theirs.filter((input) => !fetched.includes(input) && !stored.includes(input));
  return withDownload(withStored(withTrust(program, place, matched), place, stored), place, fetched);
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

// Fetched with the credentials of the machine that runs the job.
function withStored(program: Argv, { job, profile, layout }: Place, inputs: readonly JobInput[]): Argv {
  const folder = unlistedIn(job, profile);
  if (inputs.length === 0 && folder === null) return program;
  const { s3, group } = profile;
  const optional = {
    endpoint: s3?.endpoint,
    region: s3?.region,
    group,
    ...(folder === null ? {} : { prefix: folder.address, folder: folder.path }),
  };
  return [
    // The environment of the payload has nothing for S3; the machine's own Python may have.
    profile.python,
    join(job.payload, "far", "s3.py"),
    ...Object.entries(optional).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
    "--umask",
    profile.umask,
    "--events",
    layout.events,
    ...inputs.flatMap(({ bytes, sha256, path, from }) => [
      "--object",
      String(bytes),
      sha256 === "" ? "-" : sha256,
      path,
      from ?? "",
    ]),
    "--",
    ...program,
  ];
}

/** A folder of weights in S3 whose files are not known here, as there is no copy of them; its address ends with a slash. */
export const unlistedIn = (
  job: Job,
  { stage, s3 }: FarProfile,
): { readonly path: string; readonly address: string } | null => {
  if (stage.model !== "s3" || job.inputs.some(({ role }) => role === "model")) return null;
  const { path } = hubModel(job);
  return { path, address: `${s3?.models ?? ""}/${posix.basename(path)}/` };
};

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
