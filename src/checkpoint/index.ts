// Stage 5 of 7: what a training run wrote becomes complete, verified, comparable checkpoints.
export { CheckpointManifest, CompleteMarker } from "./schema.ts";
export { folderFiles, type CheckpointFiles } from "./files.ts";
export {
  findCheckpoints,
  MARKER,
  scanCheckpoints,
  type FoundCheckpoint,
  type ListedCheckpoint,
} from "./scan.ts";
export { compareCheckpoint, digestList, type CheckpointState } from "./compare.ts";
export { verifyCheckpoint, verifyListed, type FileProblem, type Verified } from "./verify.ts";
export { checkpointId, manifestOf, weightsDigest } from "./manifest.ts";
export { findCheckpoint, listCheckpoints, registerCheckpoint } from "./registry.ts";
export { selectCheckpoints, type Selection } from "./select.ts";
