// Stage 4 of 7: what happened to a run, kept for good: states, attempts, events and metrics in one SQLite file.
export { classify, type Ending, type Evidence } from "./classify.ts";
export { EVENTS_STREAM, ingestPayloadEvents, type ReadBytes } from "./ingest.ts";
export type { Lease, LeaseAnswer, LeaseRequest } from "./leases.ts";
export type { MirrorChange, MirrorRow, MirrorTable } from "./mirror-table.ts";
export { mlflowClient, type Mlflow, type MlflowStatus, type Pair, type Point } from "./mlflow/client.ts";
export { ensureRun, RUN_TAG, whyRefused } from "./mlflow/ensure-run.ts";
export { MlflowError } from "./mlflow/error.ts";
export { duePoints, POINT_EVENTS } from "./mlflow/points.ts";
export type { MlflowWorld } from "./mlflow/request.ts";
export { sendParams, sendPoints, sendTags } from "./mlflow/send.ts";
export { mlflowTarget, type MlflowTarget } from "./mlflow/settings.ts";
export type { PayloadLine } from "./payload-lines.ts";
export {
  END_REASONS,
  endReason,
  endWords,
  isEndReason,
  type EndReason,
  type EndReasonName,
  type RetryBudget,
  type RetryClass,
} from "./reasons.ts";
export { newRunId } from "./run-id.ts";
export { runIdsIn } from "./run-ids.ts";
export {
  PayloadEvent,
  RUN_STATES,
  RunState,
  TERMINAL_STATES,
  type Attempt,
  type Metric,
  type Run,
  type RunEvent,
} from "./schema.ts";
export { openStore } from "./sqlite-store.ts";
export { mayGo, TRANSITIONS } from "./states.ts";
export type {
  AttemptEnd,
  EventFilter,
  NewAttempt,
  NewRun,
  PayloadBatch,
  RunFilter,
  RunHead,
  Store,
} from "./store.ts";
