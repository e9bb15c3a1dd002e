import { digestOf } from "../core/hash.ts";
import type { FoundCheckpoint } from "./scan.ts";
import type { CheckpointManifest, CompleteMarker } from "./schema.ts";

type Parents = CheckpointManifest["parents"];

/** The manifest of a complete checkpoint; `devLoss` is the marker's, null when the step was not evaluated. */
export const manifestOf = (
  found: Extract<FoundCheckpoint, { complete: true }>,
  run: { readonly id: string; readonly attempt: number; readonly parents: Parents },
  verified: { readonly at: string; readonly digests: boolean },
): CheckpointManifest => {
  const { marker } = found;
  const files = Object.entries(marker.files)
    .map(([path, file]) => ({ path, ...file }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    schemaVersion: 1,
    id: checkpointId(run.id, marker.step),
    run: run.id,
    attempt: run.attempt,
    step: marker.step,
    epoch: marker.epoch,
    kind: marker.kind,
    files,
    weightsDigest: weightsDigest(marker),
    metrics: { devLoss: marker.evalLoss, trainLoss: marker.trainLoss },
    complete: { how: "marker", verifiedAt: verified.at, digestsChecked: verified.digests },
    uri: found.folder,
    parents: run.parents,
  };
};

/** `RUN@STEP`. */
export const checkpointId = (run: string, step: number): string => `${run}@${step}`;

/** Digest over the weight files alone: optimizer state or a changed README does not make another model. */
export const weightsDigest = (marker: CompleteMarker): string =>
  digestOf(
    Object.entries(marker.files)
      .filter(([name]) => name.endsWith(".safetensors"))
      .map(([name, file]) => `${name} ${file.sha256}`)
      .toSorted((a, b) => (a < b ? -1 : 1)),
  );
