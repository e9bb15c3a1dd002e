import { packedFolder, type DatasetLock } from "../dataset/index.ts";
import type { Job, LauncherProfile } from "../launch/index.ts";
import type { Resolution } from "../recipe/index.ts";
import { trainingBytes } from "./disk.ts";
import type { PayloadSnapshot } from "./payload-snapshot.ts";
import { placeJob, type KnownFile, type PlaceModel } from "./place.ts";
import { filesOf, knownShard, locksOf } from "./place-files.ts";
import { runFolder } from "./run-folder.ts";
import type { Shop } from "./shop.ts";
import { trainManifest } from "./train-manifest.ts";

export interface TrainJobParts {
  readonly runId: string;
  readonly resolution: Resolution;
  readonly lock: DatasetLock;
  readonly profile: LauncherProfile;
  readonly payload: PayloadSnapshot;
  readonly model: PlaceModel;
  /** Interpreter on this machine, for jobs that run here. */
  readonly python: string;
  /** A lower bound, where there is one. */
  readonly secondsPerStep: number | undefined;
}

/** The training job of a recipe, placed on the machine that runs it. Reads this machine's files only. */
export const trainJob = async (shop: Shop, parts: TrainJobParts): Promise<Job> => {
  const { runId, resolution, lock, profile, payload, model, python, secondsPerStep } = parts;
  const { resolved } = resolution;
  const known = (splits: readonly ("train" | "dev" | "ood")[]): KnownFile[] =>
    splits.flatMap((split) => lock.splits[split].shards.map(knownShard));
  const placed = placeJob({
    runId,
    profile,
    payload: { ...payload, files: profile.kind === "local" ? [] : await filesOf(payload.folder) },
    data: {
      name: lock.name,
      digest: resolved.datasetLockDigest,
      folder: packedFolder(shop.project, lock.name),
      train: known(resolved.recipe.dataset.trainOn),
      dev: known(["dev"]),
    },
    model,
    locks: await locksOf(payload.folder),
    here: { python, runFolder: runFolder(shop, runId) },
  });
  const { model: placedModel, train, dev, device, ...places } = placed;
  return {
    kind: "train",
    runId,
    manifest: { ...trainManifest(resolved, { model: placedModel, device, train, dev }), run: runId },
    profile,
    diskBytes: trainingBytes(resolved),
    ...(secondsPerStep === undefined ? {} : { secondsPerStep }),
    ...places,
  };
};
