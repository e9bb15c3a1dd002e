import { z } from "zod";

/** WHERE a job runs. Other kinds join this union. */
export const LocalProfile = z.strictObject({
  schemaVersion: z.literal(1),
  kind: z.literal("local"),
  description: z.string().optional(),
  python: z
    .string()
    .optional()
    .describe(
      "Python 3.10 or newer for the payload's environment. Default: the first fitting python3 on PATH",
    ),
  processes: z
    .int()
    .positive()
    .default(1)
    .describe("Training processes on this machine: one per GPU, or 1 on a CPU"),
  device: z.enum(["auto", "cpu", "cuda"]).default("auto"),
  threads: z
    .int()
    .positive()
    .optional()
    .describe("OMP_NUM_THREADS of each process. Default: cores divided by processes"),
  graceSeconds: z
    .int()
    .positive()
    .default(120)
    .describe("How long a graceful stop may take before the group is killed"),
});
export const LauncherProfile = z.discriminatedUnion("kind", [LocalProfile]);
export type LauncherProfile = z.infer<typeof LauncherProfile>;

export const JobKind = z.enum(["train", "infer", "score", "measure", "merge"]);
export type JobKind = z.infer<typeof JobKind>;

/** What to run, launcher-independent. Paths are on the machine that runs it. */
export interface Job {
  readonly kind: JobKind;
  readonly runId: string;
  /** Folder of the run on the machine that runs it: attempts/N/ (its STOP too), output/, events.jsonl, fence. */
  readonly runFolder: string;
  /** The payload's manifest without `attempt` and `paths`, which `plan` adds. */
  readonly manifest: Readonly<Record<string, unknown>>;
  /** Interpreter of the payload's environment, and the folder that holds `understudy_payload`. */
  readonly python: string;
  readonly payload: string;
  readonly profile: LauncherProfile;
  /** Bytes the job is going to write; checked against the free space before the start. */
  readonly diskBytes: number;
  /** Names of secrets the job needs in its environment. */
  readonly secrets: readonly string[];
}

/** Which attempt of the run a plan is for. The marker names it on the far side; the token guards its writes. */
export interface AttemptContext {
  readonly number: number;
  readonly marker: string;
  readonly token: string;
}

export interface PlannedFile {
  /** Absolute path on the machine that runs the job. */
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/** Pure result of `plan`: exactly what `submit` sends and `--dry-run` prints. */
export interface Plan {
  readonly kind: LauncherProfile["kind"];
  readonly runId: string;
  readonly attempt: AttemptContext;
  readonly files: readonly PlannedFile[];
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** Literal values, or the name of a secret that is looked up at the last moment. */
  readonly environment: Readonly<Record<string, { readonly value: string } | { readonly secret: string }>>;
}

/** How to find a job again: a URI such as `local://run-id/1`, and what the launcher needs besides. */
export const JobRef = z.strictObject({
  kind: z.literal("local"),
  marker: z.string(),
  /** Folder of the attempt. */
  folder: z.string(),
});
export type JobRef = z.infer<typeof JobRef>;

/** Identifies a job in a map of observations, e.g. `local://run-id-1`. */
export type JobKey = `${string}://${string}`;
export const jobKey = (ref: JobRef): JobKey => `${ref.kind}://${ref.marker}`;

/** `result.json`, written atomically by wrapper.sh when the payload has ended. */
export const WrapperResult = z.strictObject({
  schemaVersion: z.literal(1),
  marker: z.string(),
  exitCode: z.int(),
  signal: z.string().nullable(),
  startedAt: z.string(),
  endedAt: z.string(),
  host: z.string(),
  /** `exited` by itself, `signalled`, or `node-check` when the machine was unfit and nothing was started. */
  reason: z.enum(["exited", "signalled", "node-check"]),
  detail: z.string().default(""),
});
export type WrapperResult = z.infer<typeof WrapperResult>;

/** Evidence about one job at one moment; never a state by itself. */
export type Observation =
  | { readonly phase: "live"; readonly detail: string }
  | { readonly phase: "ended"; readonly result: WrapperResult | null; readonly detail: string }
  | { readonly phase: "absent"; readonly detail: string }
  | { readonly phase: "unavailable"; readonly detail: string };

export type Submission =
  | { readonly outcome: "accepted"; readonly refs: readonly JobRef[] }
  | { readonly outcome: "rejected"; readonly reason: string; readonly hint?: string }
  | { readonly outcome: "ambiguous"; readonly reason: string };

export type Finding =
  | { readonly outcome: "found"; readonly refs: readonly JobRef[] }
  | { readonly outcome: "none" }
  | { readonly outcome: "unavailable"; readonly reason: string };

/** One preflight answer. A failed blocking check stops the start unless forced, which is recorded. */
export interface Check {
  readonly name: string;
  readonly outcome: "ok" | "failed" | "unknown";
  readonly detail: string;
  readonly hint?: string;
}

/** A problem that can be told without asking any machine. */
export interface LaunchProblem {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** Byte position in a log; survives restarts. */
export interface LogCursor {
  readonly offset: number;
}
export interface LogChunk {
  readonly lines: readonly string[];
  readonly cursor: LogCursor;
}

export interface ArtifactStore {
  /** Relative paths with sizes below a folder of the run; empty when there is none. */
  list(folder: string): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
  /** Bytes [start, end) of a file. */
  read(path: string, start?: number, end?: number): Promise<Uint8Array>;
}
