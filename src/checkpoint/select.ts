import type { CheckpointManifest } from "./schema.ts";

export interface Selection {
  readonly lowestDevLoss: CheckpointManifest | undefined;
  readonly last: CheckpointManifest | undefined;
  /** Checkpoints with a dev loss: the number that the lowest was picked from. */
  readonly candidates: number;
}

/** Lowest dev loss (ties: the earliest step) and the last one. Checkpoints without a dev loss are never "lowest". */
export const selectCheckpoints = (manifests: readonly CheckpointManifest[]): Selection => {
  const bySteps = manifests.toSorted((a, b) => a.step - b.step);
  const scored = bySteps.flatMap((manifest) =>
    manifest.metrics.devLoss === null ? [] : [{ manifest, loss: manifest.metrics.devLoss }],
  );
  const best = scored.reduce<(typeof scored)[number] | undefined>(
    (lowest, next) => (lowest === undefined || next.loss < lowest.loss ? next : lowest),
    undefined,
  );
  return { lowestDevLoss: best?.manifest, last: bySteps.at(-1), candidates: scored.length };
};
