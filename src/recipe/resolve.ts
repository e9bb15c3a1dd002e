import { UserError } from "../core/errors.ts";
import { digestOf } from "../core/hash.ts";
import { lockDigest, type DatasetLock } from "../dataset/index.ts";
import type { LoadedRecipe } from "./load.ts";
import { planTraining, type PlanSources } from "./plan.ts";
import { ResolvedRecipe, type Recipe } from "./schema.ts";
import { lockedRows, type TrainRows } from "./train-rows.ts";

export interface ResolveOptions {
  readonly loaded: LoadedRecipe;
  /** Lock of the packed data set that the recipe names. */
  readonly lock: DatasetLock;
  /** Digest over the payload's source and lock files. */
  readonly payloadDigest: string;
  /** For `stepsOf`: reads another recipe, and counts its rows (its data set may be another one). */
  readonly sources: PlanSources;
}

export interface Resolution {
  readonly resolved: ResolvedRecipe;
  /** SHA-256 of the canonical JSON of `resolved`: the same wherever it runs. */
  readonly digest: string;
  readonly warnings: readonly string[];
}

/** Freezes a recipe with its data and its code. Errors: those of planTraining, or `LOCK_OF_ANOTHER_DATASET`. */
export const resolveRecipe = async (options: ResolveOptions): Promise<Resolution> => {
  const { loaded, lock, payloadDigest, sources } = options;
  const { recipe } = loaded;
  if (lock.name !== recipe.dataset.name) {
    throw new UserError(
      "LOCK_OF_ANOTHER_DATASET",
      `Recipe ${recipe.name} trains on ${recipe.dataset.name}, but the lock is of ${lock.name}`,
    );
  }
  const rowsOf = async (other: Recipe): Promise<TrainRows> =>
    other.dataset.name === lock.name ? lockedRows(other, lock) : sources.rowsOf(other);
  const { plan, warnings } = await planTraining(loaded, { rowsOf, load: (file) => sources.load(file) });
  const resolved = ResolvedRecipe.parse({
    schemaVersion: 1,
    recipe,
    plan,
    datasetLockDigest: lockDigest(lock),
    payloadDigest,
    trainingRoles: trainingRoles(recipe, lock),
  } satisfies ResolvedRecipe);
  return { resolved: deepFreeze(resolved), digest: digestOf(resolved), warnings };
};

/** Ids of the roles with at least one training row, sorted: what "seen" means for the checkpoints of this recipe. */
export const trainingRoles = (recipe: Recipe, lock: DatasetLock): string[] =>
  lock.roles
    .filter((role) => recipe.dataset.trainOn.some((split) => role.rows[split] > 0))
    .map((role) => role.id)
    .toSorted();

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
