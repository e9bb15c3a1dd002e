// Stage 3 of 7: a job and a launcher profile become a plan, and the plan a running attempt.
export { layoutAt, type AttemptLayout } from "./attempt-layout.ts";
export { downloadAll } from "./download-all.ts";
export { findPython, type FoundPython } from "./find-python.ts";
export type { Launcher } from "./launcher.ts";
export { openLauncher, type LaunchProgress, type LaunchWorld, type OnLaunchProgress } from "./launchers.ts";
export { loadProfile, profileNames } from "./load-profile.ts";
export { isMarker, markerOf } from "./marker.ts";
export { planText, shellQuote } from "./plan-text.ts";
export { LauncherProfile, type FarProfile, type ProfileOf } from "./profile.ts";
export { lockNames, plannedPython, preparePython, type PythonRequest } from "./prepare-python.ts";
export { environmentFolderOf, farDevice } from "./far/environment-folder.ts";
export { slurmSeconds } from "./slurm/times.ts";
export {
  jobKey,
  JobKind,
  JobRef,
  JobEnvironment,
  JobInput,
  WrapperResult,
  END_CAUSES,
  type ArtifactStore,
  type AttemptContext,
  type Check,
  type Continuation,
  type EndCause,
  type Finding,
  type Job,
  type JobKey,
  type LaunchProblem,
  type LogChunk,
  type LogCursor,
  type Observation,
  type Plan,
  type PlannedFile,
  type Submission,
} from "./schema.ts";
