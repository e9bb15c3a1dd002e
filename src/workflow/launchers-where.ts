import { dirname } from "node:path/posix";
import type { JobRef, LauncherProfile } from "../launch/index.ts";

/** Folder of the run on the machine that runs it; SageMaker: its key in the bucket. */
const runFolderOf = ({ folder }: JobRef): string => dirname(dirname(folder));

const hostOf = ({ login }: Extract<LauncherProfile, { kind: "slurm" }>): string =>
  login === undefined ? "" : authority(login);

/** A host as a `JobRef` and a URI name it: `user@host:port` as far as the profile says. */
export function authority({
  user,
  host,
  port,
}: {
  user?: string | undefined;
  host: string;
  port?: number | undefined;
}): string {
  return `${user === undefined ? "" : `${user}@`}${host}${port === undefined ? "" : `:${port}`}`;
}

/**
 * Where a file of a run lies, `path` relative to the run's folder: a plain path on this machine, else
 * `ssh://host/path`, `file:///path` (a cluster whose commands are this machine's) or `s3://bucket/key`.
 */
export const whereOf = (profile: LauncherProfile, ref: JobRef, path: string): string => {
  const place = `${runFolderOf(ref)}/${path}`;
  if (ref.kind === "local") return place;
  if (ref.kind === "ssh") return `ssh://${ref.host}${place}`;
  if (profile.kind === "sagemaker") return `s3://${profile.bucket}/${place.replace(/^\/+/, "")}`;
  const host = profile.kind === "slurm" ? hostOf(profile) : "";
  return host === "" ? `file://${place}` : `ssh://${host}${place}`;
};
