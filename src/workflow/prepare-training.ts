import { readLock, verifyDataset, type DatasetLock } from "../dataset/index.ts";
import { loadProfile, type Job, type LauncherProfile } from "../launch/index.ts";
import {
  loadRecipe,
  readTrainRows,
  resolveRecipe,
  type LoadedRecipe,
  type Resolution,
} from "../recipe/index.ts";
import { checkJob, jobInvalid, offlineProblems, type CheckedJob } from "./check-job.ts";
import { trainingBytes } from "./disk.ts";
import { estimateFor, type TrainingEstimate } from "./estimate.ts";
import { knownModel, plannedModel, withFiles } from "./model-source.ts";
import { snapshotPayload, type PayloadSnapshot } from "./payload-snapshot.ts";
import { placeProblems } from "./place-problems.ts";
import { plannedPythonFor, pythonFor } from "./python-for.ts";
import { freshRunId } from "./runs.ts";
import type { Shop } from "./shop.ts";
import { trainJob } from "./train-job.ts";

export interface TrainingRequest {
  /** Path of the recipe, absolute or relative to `folder`. */
  readonly recipe: string;
  readonly folder: string;
  readonly set: readonly string[];
  readonly profile: string;
  /** Default: a fresh one that begins with the recipe's name. */
  readonly runId?: string;
  /** Start although a preflight check failed; recorded with the run. */
  readonly force: boolean;
}

/** What follows from recipe, data, code and profile before anything is made or asked. */
export interface PlannedRun {
  readonly loaded: LoadedRecipe;
  readonly resolution: Resolution;
  readonly job: Job;
  readonly estimate: TrainingEstimate;
  /** What is not there yet and is told, not refused, because nothing is started. */
  readonly notes: readonly string[];
}

export interface PreparedTraining extends PlannedRun, CheckedJob {}

/**
 * Everything before a run exists: recipe, data verified against the lock, environment, model, the job, and the refusals. All
 * problems that can be told offline are told together, before anything is made and before any other machine is asked.
 * Errors: those of the stages; UserError `JOB_INVALID` with all problems; PreflightError `PREFLIGHT_FAILED` with numbers.
 */
export const prepareTraining = async (shop: Shop, request: TrainingRequest): Promise<PreparedTraining> => {
  const { parts, missing } = await planned(shop, request);
  if (missing !== null) throw missing;
  const { profile, payload, loaded, resolution } = parts;
  const makingPython = async (): Promise<string> => pythonFor(shop, profile);
  const model = await knownModel(shop, {
    choice: loaded.recipe.model,
    profile,
    payload,
    python: makingPython,
  });
  const python = profile.kind === "local" ? await makingPython() : parts.python;
  const job = await trainJob(shop, { ...parts, model, python });
  const checked = await checkJob(shop, job, request.force);
  return { loaded, resolution, job, estimate: parts.estimate, notes: [], ...checked };
};

/**
 * The same without making or asking anything: for `--dry-run`. Weights that are missing, and a tiny model that is not made yet,
 * are notes. Errors: those of the stages, and `JOB_INVALID`.
 */
export const planTrainingRun = async (shop: Shop, request: TrainingRequest): Promise<PlannedRun> => {
  const { parts, missing } = await planned(shop, request);
  const { loaded, resolution, profile } = parts;
  const model = await withFiles(shop, parts.model, profile);
  const isUnmade =
    loaded.recipe.model.kind === "tiny" && model.files.length === 0 && profile.kind !== "local";
  return {
    loaded,
    resolution,
    job: await trainJob(shop, { ...parts, model }),
    estimate: parts.estimate,
    notes: [
      ...(missing === null ? [] : [`it cannot be started yet: ${missing.message}; ${missing.hint ?? ""}`]),
      ...(isUnmade ? ["the tiny model is made at the start: its revision and files are not known yet"] : []),
    ],
  };
};

interface Parts {
  readonly loaded: LoadedRecipe;
  readonly resolution: Resolution;
  readonly lock: DatasetLock;
  readonly profile: LauncherProfile;
  readonly payload: PayloadSnapshot;
  readonly model: Awaited<ReturnType<typeof plannedModel>>["model"];
  readonly python: string;
  readonly runId: string;
  readonly estimate: TrainingEstimate;
  readonly secondsPerStep: number | undefined;
}

async function planned(
  shop: Shop,
  request: TrainingRequest,
): Promise<{ readonly parts: Parts; readonly missing: Awaited<ReturnType<typeof plannedModel>>["missing"] }> {
  const { project } = shop;
  const loaded = await loadRecipe({ file: request.recipe, folder: request.folder, set: request.set });
  const profile = forModel(await loadProfile(project, request.profile), loaded);
  const lock = await lockFor(shop, profile, loaded.recipe.dataset.name);
  const payload = await snapshotPayload(shop);
  const resolution = await resolveRecipe({
    loaded,
    lock,
    payloadDigest: payload.digest,
    sources: {
      rowsOf: async (recipe) => readTrainRows(recipe, project),
      load: async (file) => loadRecipe({ file, folder: request.folder }),
    },
  });
  const choice = loaded.recipe.model;
  const { model, missing } = await plannedModel(shop, { choice, profile, payload });
  const python = profile.kind === "local" ? await plannedPythonFor(shop, profile) : "python3";
  const runId = request.runId ?? freshRunId(shop, loaded.recipe.name);
  const estimate = estimateFor({ resolution, lock, profile, diskBytes: trainingBytes(resolution.resolved) });
  const secondsPerStep = estimate.bound?.seconds.step.best;
  const parts = {
    loaded,
    resolution,
    lock,
    profile,
    payload,
    model,
    python,
    runId,
    estimate,
    secondsPerStep,
  };
  const draft = await trainJob(shop, parts);
  const problems = [...placeProblems(profile, choice), ...(await offlineProblems(shop, draft))];
  if (problems.length === 0) return { parts, missing };
  throw jobInvalid([
    ...problems,
    ...(missing === null
      ? []
      : [
          {
            code: missing.code,
            message: missing.message,
            ...(missing.hint === undefined ? {} : { hint: missing.hint }),
          },
        ]),
  ]);
}

// Data that lies on the far side need not be packed here: its lock says what it must be.
async function lockFor(shop: Shop, profile: LauncherProfile, name: string): Promise<DatasetLock> {
  const isElsewhere =
    (profile.kind === "ssh" || profile.kind === "slurm") &&
    ["existing", "image", "s3"].includes(profile.stage.data);
  return isElsewhere ? readLock(shop.project, name) : verifyDataset(shop.project, name);
}

// More threads than one only wait for each other on matrices this small: measured up to 25 times slower on a busy machine.
function forModel(profile: LauncherProfile, { recipe }: LoadedRecipe): LauncherProfile {
  return recipe.model.kind === "tiny" ? { ...profile, threads: profile.threads ?? 1 } : profile;
}
