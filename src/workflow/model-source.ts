import { join } from "node:path";
import type { UserError } from "../core/errors.ts";
import { exists } from "../core/files.ts";
import type { LauncherProfile } from "../launch/index.ts";
import type { ModelChoice } from "../recipe/index.ts";
import { folderDigests } from "./file-digests.ts";
import { madeModel, modelMissing, prepareModel, publishedFolder } from "./model.ts";
import type { PayloadSnapshot } from "./payload-snapshot.ts";
import type { PlaceModel } from "./place.ts";
import type { Shop } from "./shop.ts";

/** Stands for the revision of a model that is made at the start, where nothing is started. */
export const REVISION_UNKNOWN = "REVISION-MADE-AT-START";

interface Request {
  readonly choice: ModelChoice;
  readonly profile: LauncherProfile;
  readonly payload: PayloadSnapshot;
  readonly python: () => Promise<string>;
}

/**
 * A recipe's model as far as it is known without making or reading it. UserError `MODEL_MISSING` in `missing` where weights have to
 * lie on this machine and do not.
 */
export const plannedModel = async (
  shop: Shop,
  { choice, profile, payload }: Omit<Request, "python">,
): Promise<{ readonly model: PlaceModel; readonly missing: UserError | null }> => {
  if (choice.kind === "tiny") {
    const { path, revision } = await madeModel(shop, choice, payload);
    return {
      model: { folder: path, files: [], revision: revision ?? REVISION_UNKNOWN, hub: null },
      missing: null,
    };
  }
  const folder = publishedFolder(shop, choice);
  const model = { files: [], revision: `${choice.id}@${choice.revision}`, hub: choice };
  if (await exists(join(folder, "config.json"))) return { model: { ...model, folder }, missing: null };
  if (!isNeededHere(profile)) return { model: { ...model, folder: null }, missing: null };
  const missing = modelMissing(choice, folder);
  return { model: { ...model, folder }, missing };
};

/**
 * A recipe's model with the files that are sent: made or hashed where that is needed. Digests of weights are remembered in the
 * state folder. Errors: those of `prepareModel`.
 */
export const knownModel = async (shop: Shop, request: Request): Promise<PlaceModel> => {
  const { choice, profile, payload, python } = request;
  const { model } = await plannedModel(shop, request);
  if (choice.kind === "hub" && !isNeededHere(profile)) return withFiles(shop, model, profile);
  const { path, revision } = await prepareModel(shop, choice, { python, payload });
  return withFiles(shop, { ...model, folder: path, revision }, profile);
};

/** The model's files with their digests, where a profile sends or compares them. */
export const withFiles = async (
  shop: Shop,
  model: PlaceModel,
  profile: LauncherProfile,
): Promise<PlaceModel> => {
  if (profile.kind === "local" || model.folder === null || !(await exists(model.folder))) return model;
  if (model.hub !== null && !isComparedHere(profile)) return model;
  const files = await folderDigests(model.folder, {
    cache: `${model.folder}.digests.json`,
    signal: shop.signal,
    onHash: ({ path, bytes }) =>
      shop.onProgress({ type: "detail", text: `reading ${path} (${(bytes / 1e9).toFixed(1)} GB) once` }),
  });
  return { ...model, files };
};

function isNeededHere(profile: LauncherProfile): boolean {
  if (profile.kind === "local") return true;
  return profile.kind === "sagemaker" ? profile.input.from === "s3" : profile.stage.model === "upload";
}

// Weights that lie on the far side are compared with this machine's copy where it has one.
function isComparedHere(profile: LauncherProfile): boolean {
  if (profile.kind === "local" || profile.kind === "sagemaker") return true;
  return profile.stage.model !== "image";
}
