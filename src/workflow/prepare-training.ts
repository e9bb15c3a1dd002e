import { join } from "node:path";
import { PreflightError, UserError } from "../core/errors.ts";
import { openDataset, verifyDataset } from "../dataset/index.ts";
import {
  loadProfile,
  openLauncher,
  preparePython,
  type Check,
  type Job,
  type LauncherProfile,
  type LaunchProblem,
} from "../launch/index.ts";
import {
  loadRecipe,
  readTrainRows,
  resolveRecipe,
  type LoadedRecipe,
  type Resolution,
} from "../recipe/index.ts";
import { trainingBytes } from "./disk.ts";
import { prepareModel } from "./model.ts";
import { snapshotPayload, type PayloadSnapshot } from "./payload-snapshot.ts";
import type { Shop } from "./shop.ts";
import { trainManifest } from "./train-manifest.ts";

export interface TrainingRequest {
  /** Path of the recipe, absolute or relative to `folder`. */
  readonly recipe: string;
  readonly folder: string;
  readonly set: readonly string[];
  readonly profile: string;
  readonly runId: string;
  /** Start although a preflight check failed; recorded with the run. */
  readonly force: boolean;
}

export interface PreparedTraining {
  readonly loaded: LoadedRecipe;
  readonly resolution: Resolution;
  readonly job: Job;
  readonly checks: readonly Check[];
  /** Failed checks that `force` overruled. */
  readonly forced: readonly string[];
}

/**
 * Everything before a run exists: recipe, data verified against the lock, environment, model, the job, and the refusals.
 * Errors: those of the stages; UserError `JOB_INVALID` with all problems; PreflightError `PREFLIGHT_FAILED` with numbers.
 */
export const prepareTraining = async (shop: Shop, request: TrainingRequest): Promise<PreparedTraining> => {
  const { project } = shop;
  const loaded = await loadRecipe({ file: request.recipe, folder: request.folder, set: request.set });
  const lock = await verifyDataset(project, loaded.recipe.dataset.name);
  const profile = forModel(await loadProfile(project, request.profile), loaded);
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
  const model = await prepareModel(shop, loaded.recipe.model, {
    python: async () => pythonFor(shop, profile),
    payload,
  });
  const python = await pythonFor(shop, profile);
  const job = await trainJob(shop, { resolution, profile, python, payload, model, runId: request.runId });
  const { checks, forced } = await checkJob(shop, job, request.force);
  return { loaded, resolution, job, checks, forced };
};

// More threads than one only wait for each other on matrices this small: measured up to 25 times slower on a busy machine.
function forModel(profile: LauncherProfile, { recipe }: LoadedRecipe): LauncherProfile {
  return recipe.model.kind === "tiny" ? { ...profile, threads: profile.threads ?? 1 } : profile;
}

/** The payload's interpreter for a profile, made when it is not there yet. */
export const pythonFor = async (shop: Shop, profile: LauncherProfile): Promise<string> =>
  preparePython({
    project: shop.project,
    payload: shop.payload,
    profile,
    environment: shop.environment,
    clock: shop.clock,
    onLine: (text) => shop.onProgress({ type: "detail", text }),
    signal: shop.signal,
  });

/** Offline problems and preflight of a job; throws on what stops the start. */
export const checkJob = async (
  shop: Shop,
  job: Job,
  force: boolean,
): Promise<{ readonly checks: readonly Check[]; readonly forced: readonly string[] }> => {
  const launcher = await openLauncher(job.profile, { ...shop, payload: job.payload });
  const problems = launcher.validate(job);
  if (problems.length > 0) throw invalid(problems);
  const checks = await launcher.preflight(job);
  const failed = checks.filter(({ outcome }) => outcome === "failed");
  const lines = failed.map(({ name, detail }) => `${name}: ${detail}`);
  if (failed.length > 0 && !force) {
    const hint = failed.find((check) => check.hint !== undefined)?.hint;
    throw new PreflightError("PREFLIGHT_FAILED", `The job would not run here:\n  ${lines.join("\n  ")}`, {
      hint: hint ?? "mend it, or start with --force, which is recorded",
    });
  }
  return { checks, forced: lines };
};

function invalid(problems: readonly LaunchProblem[]): UserError {
  const hint = problems.find((problem) => problem.hint !== undefined)?.hint;
  const lines = problems.map(({ message }) => `  ${message}`);
  return new UserError(
    "JOB_INVALID",
    `The job cannot be started:\n${lines.join("\n")}`,
    hint === undefined ? {} : { hint },
  );
}

async function trainJob(
  shop: Shop,
  made: {
    readonly resolution: Resolution;
    readonly profile: LauncherProfile;
    readonly python: string;
    readonly payload: PayloadSnapshot;
    readonly model: { readonly path: string; readonly revision: string };
    readonly runId: string;
  },
): Promise<Job> {
  const { resolved } = made.resolution;
  const dataset = await openDataset(shop.project, resolved.recipe.dataset.name);
  try {
    const train = resolved.recipe.dataset.trainOn.flatMap((split) => dataset.shards[split]);
    return {
      kind: "train",
      runId: made.runId,
      runFolder: runFolder(shop, made.runId),
      manifest: {
        ...trainManifest(resolved, {
          model: made.model,
          device: made.profile.device,
          train,
          dev: dataset.shards.dev,
        }),
        run: made.runId,
      },
      python: made.python,
      payload: made.payload.folder,
      profile: made.profile,
      diskBytes: trainingBytes(resolved),
      secrets: [],
    };
  } finally {
    await dataset.close();
  }
}

/** Where a run keeps everything on this machine. */
export const runFolder = (shop: Shop, runId: string): string => join(shop.project.state, "runs", runId);
