import { posix } from "node:path";
import { InternalError } from "../core/errors.ts";
import type { Job, JobInput, LauncherProfile } from "../launch/index.ts";

/** How much of one kind of input goes there, or has to be there. */
export interface InputShare {
  readonly role: JobInput["role"];
  readonly files: number;
  readonly bytes: number;
}

/** What goes where, in short: before a start, and at the head of a dry run. */
export interface JobSummary {
  /** `8 processes on trainer@gpu1`, `slurm through login1, 2 jobs of 12:00:00`. */
  readonly where: string;
  /** Sent at most: only what is missing there. */
  readonly sends: readonly InputShare[];
  /** Not sent: it has to be there already. */
  readonly expects: readonly InputShare[];
  /** Python environment that is made there once; null for one that is there, or in an image. */
  readonly environment: string | null;
  /** Where checkpoints, events and logs are going to be. */
  readonly results: string;
}

/** Pure. */
export const jobSummary = (job: Job): JobSummary => ({
  where: whereText(job.profile),
  sends: shares(job.inputs.filter(({ source }) => source !== null)),
  expects: shares(job.inputs.filter(({ source }) => source === null)),
  environment: job.environment?.folder ?? null,
  results: resultsOf(job),
});

function shares(inputs: readonly JobInput[]): InputShare[] {
  return (["payload", "data", "model"] as const).flatMap((role) => {
    const found = inputs.filter((input) => input.role === role);
    const bytes = found.reduce((sum, input) => sum + input.bytes, 0);
    return found.length === 0 ? [] : [{ role, files: found.length, bytes }];
  });
}

function whereText(profile: LauncherProfile): string {
  const { processes } = profile;
  const each = `${processes} ${processes === 1 ? "process" : "processes"}`;
  switch (profile.kind) {
    case "local":
      return `${each} on this machine`;
    case "ssh": {
      const hosts = profile.hosts.map(({ host }) => host);
      return `${each} on ${hosts.length === 1 ? hosts.join() : `the first free of ${hosts.join(", ")}`}`;
    }
    case "slurm": {
      const { login, chain, time, nodes } = profile;
      const via = login === undefined ? "Slurm of this machine" : `Slurm through ${login.host}`;
      const jobs = chain === 1 ? `one job of ${time}` : `a chain of ${chain} jobs of ${time}`;
      return `${via}, ${jobs}, ${each} on ${nodes === 1 ? "one node" : `each of ${nodes} nodes`}`;
    }
    case "sagemaker": {
      const { instances, instanceType, region, spot } = profile;
      return `SageMaker in ${region}, ${instances} × ${instanceType}${spot === undefined ? "" : " (spot)"}, ${each} on each`;
    }
    default:
      return unknownKind(profile);
  }
}

function resultsOf({ profile, runFolder, runId }: Job): string {
  if (profile.kind !== "sagemaker") return runFolder;
  return `s3://${posix.join(profile.bucket, profile.prefix, "runs", runId)}`;
}

function unknownKind(profile: never): never {
  throw new InternalError("PROFILE_KIND", `There are no words for ${JSON.stringify(profile)}`);
}
