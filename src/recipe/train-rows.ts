import { UserError } from "../core/errors.ts";
import { exists } from "../core/files.ts";
import type { Project } from "../core/project.ts";
import { loadSpec, lockFile, readLock, type DatasetLock } from "../dataset/index.ts";
import type { Recipe } from "./schema.ts";

/** How many dialogues a recipe trains on. */
export interface TrainRows {
  readonly rows: number;
  /** True when nothing is packed yet and the spec's expected counts stand in. */
  readonly expected: boolean;
}

/** Dialogues in the splits that a recipe trains on, from the lock of its data set. `NO_TRAINING_ROWS` for none. */
export const lockedRows = (recipe: Recipe, lock: DatasetLock): TrainRows => {
  const rows = recipe.dataset.trainOn.reduce((sum, split) => sum + lock.splits[split].rows, 0);
  if (rows === 0) {
    throw new UserError(
      "NO_TRAINING_ROWS",
      `Data set ${recipe.dataset.name} has no dialogue in ${recipe.dataset.trainOn.join(" and ")}`,
      { hint: `see what was dropped: understudy dataset show ${recipe.dataset.name}` },
    );
  }
  return { rows, expected: false };
};

/**
 * Dialogues a recipe trains on, read from its data set's lock or, before packing, from the counts that the spec expects.
 * Errors: those of loadSpec and readLock, `NO_TRAINING_ROWS`, or `ROWS_UNKNOWN` when neither file says.
 */
export const readTrainRows = async (recipe: Recipe, project: Project): Promise<TrainRows> => {
  const { name, trainOn } = recipe.dataset;
  if (await exists(lockFile(project, name))) return lockedRows(recipe, await readLock(project, name));
  const { spec, file } = await loadSpec(project, name);
  const counts = { train: spec.expected?.trainRows, ood: spec.expected?.oodRows };
  const missing = trainOn.find((split) => counts[split] === undefined);
  if (missing !== undefined) {
    throw new UserError(
      "ROWS_UNKNOWN",
      `Data set ${name} is not packed, and its spec does not say how many rows ${missing} will have`,
      { hint: `pack it: understudy dataset pack ${name}; or set expected.${missing}Rows in ${file}` },
    );
  }
  return { rows: trainOn.reduce((sum, split) => sum + (counts[split] ?? 0), 0), expected: true };
};
