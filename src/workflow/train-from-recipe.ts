import type { Run } from "../track/index.ts";
import type { PreparedTraining } from "./prepare-training.ts";
import { startRun } from "./runs.ts";
import type { Shop } from "./shop.ts";

/** Starts a prepared training as a run of its own. */
export const trainFromRecipe = async (
  shop: Shop,
  prepared: PreparedTraining,
  profileName: string,
): Promise<Run> =>
  startRun(shop, {
    job: prepared.job,
    proof: { kind: "train", steps: prepared.resolution.resolved.plan.steps },
    profileName,
    training: prepared,
    name: prepared.loaded.recipe.name,
    pipelineId: prepared.job.runId,
  });
