// Stage 5 of 7: what a training run wrote becomes complete, verified, comparable checkpoints.
export { CheckpointManifest, CompleteMarker } from "./schema.ts";
export { MARKER, scanCheckpoints, type FoundCheckpoint } from "./scan.ts";
export { verifyCheckpoint, type FileProblem } from "./verify.ts";
export { checkpointId, manifestOf, weightsDigest } from "./manifest.ts";
export { findCheckpoint, listCheckpoints, registerCheckpoint } from "./registry.ts";
export { selectCheckpoints, type Selection } from "./select.ts";
