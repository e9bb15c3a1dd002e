// The stages joined: what the command line calls.
export { advanceRun, type Advance, type Purpose } from "./advance.ts";
export { evaluateRun } from "./evaluate-run.ts";
export { followRun, followToSuccess } from "./follow.ts";
export { runLogs, type LogLine, type LogsRequest } from "./logs.ts";
export {
  planTrainingRun,
  prepareTraining,
  type PlannedRun,
  type PreparedTraining,
  type TrainingRequest,
} from "./prepare-training.ts";
export { runFolder } from "./run-folder.ts";
export type { TrainingEstimate } from "./estimate.ts";
export type { OnProgress, Progress } from "./progress.ts";
export { dryRun, planOf } from "./dry-run.ts";
export { runIdOf } from "./find-run.ts";
export { doctorHere, doctorProfile, doctorProfiles, type DoctorRequest, type ProfileLine } from "./doctor.ts";
export { jobSummary, type JobSummary } from "./job-summary.ts";
export { quickstart, type QuickstartRequest, type QuickstartResult } from "./quickstart.ts";
export { reportFolder, reportRun, type WrittenReport } from "./report-run.ts";
export { lockOf, RunLock } from "./run-lock.ts";
export { freshRunId, resumeRun, startRun, stopRun } from "./runs.ts";
export { settlementsOf, settleRun, type Settlement } from "./settle.ts";
export { withShop, type Shop, type ShopRequest } from "./shop.ts";
export { verifyCheckpointOf, type VerifiedCheckpoint } from "./verify-checkpoint.ts";
export { watchRuns, type WatchEnd, type WatchPass, type WatchRequest } from "./watch.ts";
export type { RunLook } from "./watch-look.ts";
export { summariesOf, type RunSummary } from "./watch-summary.ts";
export type { Ask } from "./look-at-runs.ts";
export type { BudgetState } from "./budgets.ts";
export { packEmbedder, type EmbedderRequest } from "./pack-embedder.ts";
export { doctorMlflow, mirrorState, type MirrorState } from "./mirror-state.ts";
export { outlook } from "./outlook.ts";
export { trainFromRecipe } from "./train-from-recipe.ts";
