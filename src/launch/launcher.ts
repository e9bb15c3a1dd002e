import type {
  ArtifactStore,
  AttemptContext,
  Check,
  Finding,
  Job,
  JobKey,
  JobRef,
  LaunchProblem,
  LogChunk,
  LogCursor,
  Observation,
  Plan,
  Submission,
} from "./schema.ts";

/** The port every way of running a job implements. Differences are data, never `if (kind === …)` in callers. */
export interface Launcher {
  readonly kind: Plan["kind"];
  /** Offline: names, limits, intervals, secrets. All problems at once. */
  validate(job: Job): readonly LaunchProblem[];
  /** Pure: the same job and attempt give the same plan. */
  plan(job: Job, attempt: AttemptContext): Plan;
  /** What can be asked of the machine without a job: reachability, scheduler, Python, GPUs. For `doctor`. */
  probe(): Promise<readonly Check[]>;
  /** What can be asked of the machine for this job, `probe` included, before anything is started. */
  preflight(job: Job): Promise<readonly Check[]>;
  /** Sends that very plan. A lost reply is `ambiguous`, to be settled by `find`; never by a second submit. */
  submit(plan: Plan): Promise<Submission>;
  find(plan: Plan): Promise<Finding>;
  /** All in as few queries as there are machines to ask. A failed query makes its jobs `unavailable`, never absent. */
  observe(refs: readonly JobRef[]): Promise<ReadonlyMap<JobKey, Observation>>;
  /** Yields new complete lines from the cursor on; ends when `signal` aborts or, without `follow`, at the end of the log. */
  logs(
    ref: JobRef,
    cursor: LogCursor,
    options: { readonly follow: boolean; readonly signal: AbortSignal },
  ): AsyncIterable<LogChunk>;
  artifacts(ref: JobRef): ArtifactStore;
  cancel(ref: JobRef, mode: "graceful" | "now"): Promise<"requested" | "already-ended">;
  /** Ends connections. The launcher is not used after it. */
  close(): Promise<void>;
}
