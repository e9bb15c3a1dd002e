import { basename, posix } from "node:path";
import { UserError } from "../core/errors.ts";
import { packedFolder, type DatasetLock } from "../dataset/index.ts";
import { LauncherProfile, type Job, type JobRef } from "../launch/index.ts";
import type { EvaluationKind, OpenTask } from "./evaluation-jobs.ts";
import { authority } from "./launchers-where.ts";
import { placeJob } from "./place.ts";
import { profileOfEvaluation } from "./place-sagemaker.ts";
import { filesOf, knownShard, locksOf } from "./place-files.ts";
import type { PayloadSnapshot } from "./payload-snapshot.ts";
import { runFolder } from "./run-folder.ts";
import type { RunLock } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

export interface PlaceOfEvaluation {
  readonly kind: EvaluationKind;
  /** Id of the job's own run. */
  readonly id: string;
  /** Of the training run, and its last job: checkpoints lie where that ran. */
  readonly lock: RunLock;
  readonly trainedOn: JobRef | undefined;
  readonly model: { readonly path: string; readonly revision: string };
  readonly data: DatasetLock;
  readonly payload: PayloadSnapshot;
  /** Interpreter on this machine. */
  readonly python: string;
}

type Places = Pick<
  Job,
  "profile" | "runFolder" | "payload" | "python" | "inputs" | "environment" | "secrets"
>;

/** An evaluation job's places, and its tasks as the machine that runs it sees them. */
export interface EvaluationPlace extends Places {
  readonly model: { readonly path: string; readonly revision: string };
  readonly device: "auto" | "cpu" | "cuda";
  readonly at: (task: OpenTask) => OpenTask;
}

/** Folder of the task rows below a job's run folder, on machines that are not this one. */
export const TASKS = "tasks";

// Measures are taken of answers that are here by then, and need no GPU.
const isHere = ({ kind, lock }: PlaceOfEvaluation): boolean =>
  kind === "measure" || lock.job.profile.kind === "local";

/**
 * Where the jobs of an evaluation run: scoring and answering on the machine that trained, for its weights and checkpoints lie
 * there; measures on this one. On SageMaker that is a training job of its own, on the same bucket. UserError
 * `EVALUATION_ELSEWHERE` when a checkpoint is not in that bucket any more.
 */
export const placeEvaluation = async (shop: Shop, wanted: PlaceOfEvaluation): Promise<EvaluationPlace> =>
  isHere(wanted) ? placeHere(shop, wanted) : placeFar(shop, wanted);

function placeHere(shop: Shop, { id, lock, model, payload, python }: PlaceOfEvaluation): EvaluationPlace {
  const isLocal = lock.job.profile.kind === "local";
  const profile = isLocal ? lock.job.profile : LauncherProfile.parse({ schemaVersion: 1, kind: "local" });
  return {
    profile,
    runFolder: runFolder(shop, id),
    payload: payload.folder,
    python,
    inputs: [],
    environment: null,
    secrets: [],
    model: isLocal ? model : { ...model, path: payload.folder },
    device: profile.device,
    // A measure reads the answers alone; a checkpoint that lies elsewhere has no path here.
    at: (task) => (isLocal ? task : withoutCheckpoint(task)),
  };
}

function withoutCheckpoint(task: OpenTask): OpenTask {
  return { ...task, manifest: { ...task.manifest, system: { ...systemOf(task), checkpoint: null } } };
}

async function placeFar(shop: Shop, wanted: PlaceOfEvaluation): Promise<EvaluationPlace> {
  const { id, lock, trainedOn, model, data, payload, python } = wanted;
  const profile = sameMachine(lock.job.profile, trainedOn);
  const placed = placeJob({
    runId: id,
    profile,
    payload: { ...payload, files: await filesOf(payload.folder) },
    data: {
      name: data.name,
      digest: lock.resolved?.datasetLockDigest ?? "",
      folder: packedFolder(shop.project, data.name),
      train: data.splits.test.shards.map(knownShard),
      dev: [],
    },
    // The weights are where the training run found them.
    model: { revision: model.revision, hub: null, folder: null, files: [] },
    locks: await locksOf(payload.folder),
    here: { python, runFolder: runFolder(shop, id) },
  });
  const weights = lock.job.inputs.filter(({ role }) => role === "model");
  return {
    profile,
    runFolder: placed.runFolder,
    payload: placed.payload,
    python: placed.python,
    inputs: [...placed.inputs.filter(({ role }) => role !== "model"), ...weights],
    environment: placed.environment,
    secrets: placed.secrets,
    model,
    device: placed.device,
    at: (task) =>
      farTask(task, {
        runFolder: placed.runFolder,
        shards: placed.train,
        checkpoint: (uri) => checkpointAt(profile, lock.job.runFolder, uri),
      }),
  };
}

// Checkpoints lie in the run's folder of one host; another host may have no such folder. A bucket is reached from anywhere.
function sameMachine(profile: LauncherProfile, trainedOn: JobRef | undefined): LauncherProfile {
  if (profile.kind === "sagemaker") return profileOfEvaluation(profile);
  if (profile.kind !== "ssh" || trainedOn?.kind !== "ssh") return profile;
  const hosts = profile.hosts.filter((host) => authority(host) === trainedOn.host);
  return hosts.length === 0 ? profile : { ...profile, hosts };
}

/** A checkpoint as the job's manifest names it: its folder beside the job's own, or its key, which the launcher brings in. */
function checkpointAt(profile: LauncherProfile, trained: string, uri: string): string {
  if (profile.kind !== "sagemaker") return posix.join(trained, "output", posix.basename(uri));
  if (uri.startsWith(`s3://${profile.bucket}/`)) return uri;
  throw new UserError(
    "EVALUATION_ELSEWHERE",
    `The checkpoint ${uri} is not in the bucket ${profile.bucket} that the run was trained with`,
    { hint: `bring it back there: a training job is given keys of its own bucket` },
  );
}

function farTask(
  task: OpenTask,
  far: {
    readonly runFolder: string;
    readonly shards: readonly string[];
    readonly checkpoint: (uri: string) => string;
  },
): OpenTask {
  const output = posix.join(far.runFolder, TASKS, basename(task.proof.folder));
  const system = systemOf(task);
  const { checkpoint } = system;
  const path = checkpoint === null ? null : far.checkpoint(checkpoint);
  return {
    ...task,
    proof: { ...task.proof, folder: output },
    manifest: {
      ...task.manifest,
      system: { ...system, checkpoint: path },
      suite: { ...task.manifest.suite, shards: far.shards },
      output,
    },
  };
}

const systemOf = ({ manifest }: OpenTask): OpenTask["manifest"]["system"] => manifest.system;
