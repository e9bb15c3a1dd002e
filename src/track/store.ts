import type { Attempt, Metric, Run, RunEvent, RunState } from "./schema.ts";
import type { Lease, LeaseAnswer, LeaseRequest } from "./leases.ts";
import type { MirrorTable } from "./mirror-table.ts";
import type { PayloadLine } from "./payload-lines.ts";

export interface NewRun {
  readonly id: string;
  readonly kind: Run["kind"];
  readonly name: string;
  readonly recipeDigest: string | null;
  readonly lock: unknown;
  readonly parentId?: string;
  readonly pipelineId?: string;
}

export interface RunFilter {
  readonly pipelineId?: string;
  readonly kind?: Run["kind"];
  readonly states?: readonly RunState[];
}

export interface EventFilter {
  /** Only events with a greater sequence number. */
  readonly after?: number;
  readonly types?: readonly string[];
  readonly attempt?: number;
  readonly limit?: number;
}

/** How an attempt ended: written once, never changed. */
export interface AttemptEnd {
  /** A name of the reason table. */
  readonly reason: string;
  readonly exitCode: number | null;
  readonly evidence: unknown;
}

/** What a watcher needs to know of a run before it acts on it. */
export type RunHead = Pick<
  Run,
  "id" | "kind" | "state" | "reason" | "parentId" | "stopRequested" | "stopNow" | "lastSeenAt"
>;

/** How a new attempt came about. Default: a new one of ours, with a fresh token and no job yet. */
export interface NewAttempt {
  /** The far side began it by itself and chose the token. */
  readonly token?: string;
  readonly refs?: unknown;
}

/** Lines of a payload stream between two byte positions, with what was read from them. */
export interface PayloadBatch {
  readonly stream: string;
  /** Must be where the stream's cursor stands. */
  readonly from: number;
  readonly to: number;
  readonly lines: readonly PayloadLine[];
}

/**
 * The durable record of all runs. Writes that belong to whoever acts on a run take its lease and fail with `LEASE_LOST` once
 * another holds it; each is one transaction, on disk when it returns. Unknown runs: UserError `RUN_UNKNOWN`.
 */
export interface Store {
  createRun(run: NewRun): Run;
  getRun(id: string): Run;
  findRun(id: string): Run | undefined;
  /** Ids that begin with `prefix`, newest first, each with what its run belongs to. */
  runNames(prefix?: string): readonly Pick<Run, "id" | "parentId">[];
  /** Newest first. */
  listRuns(filter?: RunFilter): readonly Run[];
  /** Runs that have not ended, and blocked ones, oldest first; without their locks, so that thousands cost little. */
  watchedRuns(): readonly RunHead[];
  /** The attempts of all runs that have not ended. */
  openAttempts(): readonly Attempt[];
  /** Anybody may ask for a stop; whoever holds the run acts on it. `now` stays, whatever is asked for later. */
  requestStop(id: string, mode?: "graceful" | "now"): void;

  acquireLease(runId: string, request: LeaseRequest): LeaseAnswer;
  renewLease(lease: Lease, milliseconds: number): Lease;
  releaseLease(lease: Lease): void;

  /** Guarded by lease, state machine and `from`. InternalErrors `STATE_CHANGED`, `TRANSITION_ILLEGAL`. */
  transition(
    lease: Lease,
    change: { readonly from: RunState; readonly to: RunState; readonly reason: string },
  ): Run;
  /** Takes back a request to stop, for `run resume`. */
  clearStop(lease: Lease): void;
  /** The job itself was seen just now. */
  markSeen(lease: Lease): void;
  /** The same of many runs in which nothing else changes, in one transaction. Needs no lease: it only moves forward. */
  markAllSeen(ids: readonly string[]): void;

  /** Records intent and marker before anything is sent. InternalError `ATTEMPT_OPEN` while an earlier one has not ended. */
  addAttempt(lease: Lease, attempt?: NewAttempt): Attempt;
  /** Keeps what the launcher answered. */
  updateAttempt(
    lease: Lease,
    number: number,
    change: { readonly refs?: unknown; readonly evidence?: unknown },
  ): Attempt;
  endAttempt(lease: Lease, number: number, end: AttemptEnd): Attempt;
  attempts(runId: string): readonly Attempt[];

  appendEvent(
    lease: Lease,
    event: { readonly type: string; readonly attempt?: number; readonly data: unknown },
  ): void;
  events(runId: string, filter?: EventFilter): readonly RunEvent[];

  /** Byte position up to which a stream has been taken in. */
  cursor(runId: string, stream: string): number;
  /** Events, metrics and cursor in one transaction. False, and nothing written, when the cursor stands elsewhere. */
  ingest(lease: Lease, batch: PayloadBatch): boolean;

  /** All values by step, then attempt; one metric when a name is given. */
  metrics(runId: string, name?: string): readonly Metric[];
  /** One value for each step: where an attempt repeated a step, the newest attempt's. */
  series(runId: string, name: string): readonly { readonly step: number; readonly value: number }[];

  /** How far runs have been copied to tracking servers. */
  readonly mirrors: MirrorTable;
  close(): void;
}
