import type { DatasetLock, Split } from "../dataset/index.ts";
import type { LauncherProfile } from "../launch/index.ts";
import { estimateTraining, type Estimate, type Resolution, type SplitCounts } from "../recipe/index.ts";
import { estimateMachine, type EstimateMachine } from "./estimate-machine.ts";
import { estimateWarnings } from "./estimate-warnings.ts";

/** What a training costs at least on a profile's machine, and what does not fit. */
export interface TrainingEstimate {
  /** Null where the arithmetic does not hold: a CPU, a tiny model, a model whose shape is not known. */
  readonly bound: Estimate | null;
  readonly machine: EstimateMachine | null;
  /** Bytes that a run writes when every checkpoint is kept. */
  readonly diskBytes: number;
  /** Sentences for people, each with its numbers. */
  readonly warnings: readonly string[];
}

/** The estimate for a resolved recipe, its data set and a profile. Pure. */
export const estimateFor = (parts: {
  readonly resolution: Resolution;
  readonly lock: DatasetLock;
  readonly profile: LauncherProfile;
  readonly diskBytes: number;
}): TrainingEstimate => {
  const { resolution, lock, profile, diskBytes } = parts;
  const { recipe, plan } = resolution.resolved;
  const machine = estimateMachine(profile);
  const bound =
    machine === null
      ? null
      : estimateTraining({
          recipe,
          plan,
          gpus: machine.gpus,
          gpu: machine.gpu,
          train: countsOf(lock, recipe.dataset.trainOn),
          dev: countsOf(lock, ["dev"]),
        });
  const warnings =
    machine === null || bound === null ? [] : estimateWarnings(bound, machine, recipe.evaluation.everySteps);
  return { bound, machine, diskBytes, warnings };
};

function countsOf(lock: DatasetLock, splits: readonly Split[]): SplitCounts {
  const total = (of: keyof SplitCounts): number =>
    splits.reduce((sum, split) => sum + lock.splits[split][of], 0);
  return { rows: total("rows"), turns: total("turns"), audioSeconds: total("audioSeconds") };
}
