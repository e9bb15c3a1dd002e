// The stages joined: what the command line calls.
export { advanceRun, type Advance, type Purpose } from "./advance.ts";
export { evaluateRun } from "./evaluate-run.ts";
export { followRun, followToSuccess } from "./follow.ts";
export { runLogs, type LogsRequest } from "./logs.ts";
export {
  prepareTraining,
  runFolder,
  type PreparedTraining,
  type TrainingRequest,
} from "./prepare-training.ts";
export type { OnProgress, Progress } from "./progress.ts";
export { dryRun } from "./dry-run.ts";
export { quickstart, type QuickstartRequest, type QuickstartResult } from "./quickstart.ts";
export { reportFolder, reportRun, type WrittenReport } from "./report-run.ts";
export { lockOf, RunLock } from "./run-lock.ts";
export { freshRunId, resumeRun, startRun, stopRun } from "./runs.ts";
export { withShop, type Shop, type ShopRequest } from "./shop.ts";
export { outlook } from "./outlook.ts";
export { trainFromRecipe } from "./train-from-recipe.ts";
