import { posix } from "node:path";
import { join } from "node:path";
import {
  compareCheckpoint,
  digestList,
  findCheckpoint,
  folderFiles,
  type CheckpointFiles,
  type CheckpointManifest,
  type CheckpointState,
} from "../checkpoint/index.ts";
import { UserError } from "../core/errors.ts";
import { writeAtomic } from "../core/files.ts";
import { shellQuote, type LauncherProfile } from "../launch/index.ts";
import { authority, whereOf } from "./launchers-where.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";

export interface VerifiedCheckpoint {
  readonly manifest: CheckpointManifest;
  /** False where SHA-256 cannot be had without a download: sizes and headers were compared. */
  readonly digests: boolean;
}

/**
 * Compares a checkpoint with what was written, where it lies: on this disk, on the host that trained it, or in a bucket. On a cluster
 * sizes and headers are compared and nothing is hashed, since login nodes are not for that. UserErrors `CHECKPOINT_UNKNOWN`,
 * `CHECKPOINT_GONE`, `CHECKPOINT_CHANGED`, `CHECKPOINT_ELSEWHERE`, `VERIFY_NEEDS_JOB` (with the command that does it); RemoteErrors of
 * the machine.
 */
export const verifyCheckpointOf = async (shop: Shop, id: string): Promise<VerifiedCheckpoint> => {
  const manifest = await findCheckpoint(shop.project, id);
  const place = await placeOf(shop, manifest);
  const { profile } = place;
  const isCluster = profile?.kind === "slurm";
  const { files, folder } = place;
  const state = await compareCheckpoint(files, { folder, manifest }, { digests: !isCluster });
  if (state.kind !== "sound") throw unsound(manifest, state, profile);
  if (isCluster) throw await needsJob(shop, manifest, profile);
  return { manifest, digests: state.digests };
};

interface Place {
  readonly files: CheckpointFiles;
  /** Of the checkpoint, in `files`. */
  readonly folder: string;
  /** Of the run; undefined for a folder of this disk. */
  readonly profile?: LauncherProfile;
}

async function placeOf(shop: Shop, manifest: CheckpointManifest): Promise<Place> {
  const { uri, run: runId } = manifest;
  if (uri.startsWith("/")) return { files: folderFiles(uri), folder: "" };
  const run = shop.store.getRun(runId);
  const { profile } = lockOf(run).job;
  const folder = posix.join("output", posix.basename(uri));
  const ref = shop.store
    .attempts(runId)
    .flatMap(refsOf)
    .findLast((one) => whereOf(profile, one, folder) === uri);
  if (ref === undefined) {
    throw new UserError("CHECKPOINT_ELSEWHERE", `No attempt of ${runId} ran where ${uri} lies`, {
      hint: "it can be compared by hand: its digests are in understudy checkpoint list --json",
    });
  }
  return { files: (await launcherOf(shop, run)).artifacts(ref), folder, profile };
}

// All gone and half gone are two stories with two remedies.
function unsound(
  { id, run, uri, files }: CheckpointManifest,
  state: Exclude<CheckpointState, { kind: "sound" }>,
  profile: LauncherProfile | undefined,
): UserError {
  const hint = `bring it back from a copy, or take another: understudy checkpoint list ${run}`;
  if (state.kind === "gone") {
    const where =
      profile === undefined ? "its folder is gone" : `none of its ${files.length} files is in ${uri}`;
    return new UserError("CHECKPOINT_GONE", `${id} is no longer complete: ${where}${purged(profile)}`, {
      hint,
    });
  }
  const lines = state.problems.map(({ path, problem }) => `  ${path}: ${problem}`);
  return new UserError("CHECKPOINT_CHANGED", `${id} is not what was written:\n${lines.join("\n")}`, { hint });
}

function purged(profile: LauncherProfile | undefined): string {
  const days = profile !== undefined && "purgeDays" in profile ? profile.purgeDays : undefined;
  return days === undefined ? "" : ` (the site deletes files after ${days} days)`;
}

type SlurmProfile = Extract<LauncherProfile, { kind: "slurm" }>;

async function needsJob(shop: Shop, manifest: CheckpointManifest, profile: SlurmProfile): Promise<UserError> {
  const { id, run, step, files, uri } = manifest;
  const list = join(shop.project.state, "manifests", run, `${step}.sha256`);
  await writeAtomic(list, digestList(manifest));
  return new UserError(
    "VERIFY_NEEDS_JOB",
    `The ${files.length} files of ${id} have the right sizes; their SHA-256 takes a job, since login nodes are not for reading that much`,
    { hint: `${command(profile, folderOf(uri))} < ${shellQuote(list)}` },
  );
}

// srun passes its standard input on to the job.
function command({ login, account, partition, qos }: SlurmProfile, folder: string): string {
  const options = Object.entries({ account, partition, qos }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  const words = [
    "srun",
    ...options,
    "--ntasks=1",
    `--chdir=${folder}`,
    "sha256sum",
    "--check",
    "--quiet",
    "-",
  ];
  const line = words.map(shellQuote).join(" ");
  if (login === undefined) return line;
  const { user, host, port } = login;
  const target = authority({ user, host });
  return `ssh ${port === undefined ? "" : `-p ${port} `}${target} ${shellQuote(line)}`;
}

const folderOf = (uri: string): string => uri.replace(/^[a-z0-9]+:\/\/[^/]*/, "");
