import { type Cell, cell } from "./cell.ts";
import { NLL } from "./outcomes.ts";
import type { Prepared } from "./prepare.ts";
import type { LossPoint, ReportCheckpoint } from "./input.ts";

export const DEV_LOSS = "dev_loss";
export const TRAIN_LOSS = "train_loss";

/** Losses of one split by step. */
export interface LossSeries {
  readonly train: readonly (readonly [step: number, loss: number])[];
  readonly dev: readonly (readonly [step: number, loss: number])[];
}

/** Checkpoints by step. */
export const sortedCheckpoints = ({ input }: Prepared): readonly ReportCheckpoint[] =>
  input.checkpoints.toSorted((a, b) => a.step - b.step || (a.id < b.id ? -1 : 1));

/** Losses of every checkpoint: points of one run, without intervals. */
export const checkpointCells = (prepared: Prepared): readonly Cell[] =>
  sortedCheckpoints(prepared).flatMap(({ id, devLoss, trainLoss }) => [
    lossCell(id, { suite: "dev", outcome: DEV_LOSS, estimate: devLoss }),
    lossCell(id, { suite: "train", outcome: TRAIN_LOSS, estimate: trainLoss }),
  ]);

function lossCell(system: string, given: { suite: string; outcome: string; estimate: number | null }): Cell {
  return cell({
    table: "checkpoint",
    system,
    ...given,
    unit: NLL.unit,
    digits: NLL.digits,
    reason: given.estimate === null ? "not evaluated at this step" : null,
  });
}

/** Both curves in order of steps; where a resumed run reports a step twice, the smaller value comes first. */
export const lossSeries = (losses: readonly LossPoint[]): LossSeries => {
  const series = (pick: (point: LossPoint) => number | undefined) =>
    losses
      .flatMap((point): (readonly [number, number])[] => {
        const value = pick(point);
        return value === undefined ? [] : [[point.step, value]];
      })
      .toSorted(([stepA, a], [stepB, b]) => stepA - stepB || a - b);
  return { train: series(({ train }) => train), dev: series(({ dev }) => dev) };
};
