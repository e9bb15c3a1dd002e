import { z } from "zod";
import type { LauncherProfile } from "./profile.ts";

export type { ArtifactStore } from "./artifact-store.ts";

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
  /** What must lie on the machine before the job starts; empty where it is this machine. */
  readonly inputs: readonly JobInput[];
  /** How `python` comes to be there; null where it is made by other means (this machine, a container). */
  readonly environment: JobEnvironment | null;
  /** Estimated seconds of one training step, where somebody knows: how far a time limit reaches. */
  readonly secondsPerStep?: number | undefined;
}

/** A file that the job reads. Its far path is its content's, or says its revision: it is never overwritten. */
export const JobInput = z.strictObject({
  role: z.enum(["payload", "data", "model"]),
  /** Absolute path, or key in a bucket, on the machine that runs the job. */
  path: z.string(),
  /** Where it is here; null when it has to be there already. */
  source: z.string().nullable(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
  /** Address in S3 that the machine that runs the job fetches it from, by itself. */
  from: z.string().optional(),
});
export type JobInput = z.infer<typeof JobInput>;

/** A Python environment on the far side, made once for each digest of its lock files. */
export const JobEnvironment = z.strictObject({
  /** Final folder; `bin/python` in it is the job's interpreter. */
  folder: z.string(),
  /** Interpreter it is made from. */
  python: z.string(),
  /** Lock files of the payload, in the order of their installation; far paths. */
  locks: z.array(z.string()).readonly(),
  wheelhouse: z.string().nullable(),
  device: z.enum(["cpu", "cuda"]),
});
export type JobEnvironment = z.infer<typeof JobEnvironment>;

/** Which attempt of the run a plan is for. The marker names it on the far side; the token guards its writes. */
export interface AttemptContext {
  readonly number: number;
  readonly marker: string;
  readonly token: string;
  /** Nodes that were unfit for an earlier attempt of the run, as a scheduler names them. */
  readonly excludedNodes?: readonly string[];
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
  /** Commands sent after it, in order: the later links of a chain. */
  readonly further?: readonly (readonly [string, ...string[]])[];
  readonly cwd: string;
  /** Literal values, or the name of a secret that is looked up at the last moment. */
  readonly environment: Readonly<Record<string, { readonly value: string } | { readonly secret: string }>>;
  /** Variables of this shell that the submission does not get to see. */
  readonly dropped?: readonly string[];
  /** Content-addressed files sent before: only what is missing there. */
  readonly uploads: readonly JobInput[];
  /** Made before the start where it is not there yet. */
  readonly prepares: JobEnvironment | null;
  /** Request to a provider's API, where there is one. */
  readonly request: Readonly<Record<string, unknown>> | null;
}

/** How to find a job again: what its launcher needs besides marker and folder of the attempt (SageMaker: key in the bucket). */
const located = { marker: z.string(), folder: z.string() };
export const JobRef = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("local"), ...located }),
  z.strictObject({ kind: z.literal("ssh"), ...located, host: z.string() }),
  z.strictObject({
    kind: z.literal("slurm"),
    ...located,
    /** Of a federation; null for the only cluster. */
    cluster: z.string().nullable(),
    /** The links of the chain, in order; one for a single job. */
    jobs: z.array(z.strictObject({ id: z.string().regex(/^\d+$/), link: z.int().positive() })).min(1),
    /** Milliseconds since the epoch by the clock of the machine with the Slurm commands, a little before the submission. */
    submittedAt: z.number(),
    /** Of the submission's first attempt; later ones have TOKEN.N. What runs with it is ours, whichever job it is. */
    token: z.string().optional(),
  }),
  z.strictObject({
    kind: z.literal("sagemaker"),
    ...located,
    region: z.string(),
    job: z.string(),
    submittedAt: z.number(),
  }),
]);
export type JobRef = z.infer<typeof JobRef>;
export type RefOf<Kind extends JobRef["kind"]> = Extract<JobRef, { kind: Kind }>;

/** Identifies a job in a map of observations, e.g. `local://run-id-1`. */
export type JobKey = `${string}://${string}`;
export const jobKey = (ref: JobRef): JobKey => `${ref.kind}://${ref.marker}`;

/** `result.json`, written atomically by wrapper.sh when the payload has ended: by itself, by a signal, or never begun on an unfit machine. */
export const WrapperResult = z.strictObject({
  schemaVersion: z.literal(1),
  marker: z.string(),
  exitCode: z.int(),
  signal: z.string().nullable(),
  startedAt: z.string(),
  endedAt: z.string(),
  host: z.string(),
  reason: z.enum(["exited", "signalled", "node-check"]),
  detail: z.string().default(""),
});
export type WrapperResult = z.infer<typeof WrapperResult>;

/** Why a job ended, as its scheduler says; the wrapper's result says how the program did. */
export const END_CAUSES = [
  "completed",
  "failed",
  "preempted",
  "node_fail",
  "walltime",
  "out_of_memory",
  "cancelled",
  "cancelled_by_other",
  "no_capacity",
  "fenced",
  /** It ended before the wrapper had claimed its marker: nothing of ours has run. */
  "not_started",
  /** A word that is not in the tables; it is in `detail`. */
  "unknown",
] as const;
export type EndCause = (typeof END_CAUSES)[number];

/** Evidence about one attempt at one moment; never a state by itself. */
export type Observation =
  | {
      readonly phase: "live";
      readonly detail: string;
      /** Where the scheduler tells: waiting for a machine, or on one. */
      readonly state?: "queued" | "starting" | "running" | "stopping";
      /** It goes on, but not as it should; a sentence for the person. */
      readonly warning?: string;
    }
  | {
      readonly phase: "ended";
      readonly result: WrapperResult | null;
      readonly detail: string;
      readonly cause?: EndCause;
      /** The machine it ran on, as its scheduler names machines; of several the first. Whether it was the reason, the end says. */
      readonly node?: string;
      /** The far side goes on with the next attempt by itself (requeue, next link of a chain). */
      readonly continues?: Continuation;
    }
  | { readonly phase: "absent"; readonly detail: string }
  | { readonly phase: "unavailable"; readonly detail: string };

/** The next attempt of a run that nobody here has submitted: its number is the ended one's plus 1. */
export interface Continuation {
  readonly refs: readonly JobRef[];
  readonly token: string;
}

export type Submission =
  | {
      readonly outcome: "accepted";
      readonly refs: readonly JobRef[];
      /** What the person should know all the same, e.g. that a chain became shorter than planned. */
      readonly note?: string;
    }
  | {
      readonly outcome: "rejected";
      readonly reason: string;
      readonly hint?: string;
      /** Certainly nothing was started, and it may be accepted later. Absent: it never will be. */
      readonly retry?: "no_capacity" | "unreachable";
      /** Nothing was started: attempts up to this one have begun there, unknown to us. The one after it may be submitted. */
      readonly taken?: number;
    }
  | { readonly outcome: "ambiguous"; readonly reason: string };

export type Finding =
  | {
      readonly outcome: "found";
      readonly refs: readonly JobRef[];
      /** Jobs of a chain that its interrupted submission has not come to: submitting the same plan again adds just these. */
      readonly missingLinks?: number;
      /** Why there may be more of them than were found now. Nothing is concluded until it is gone. */
      readonly doubt?: string;
    }
  | { readonly outcome: "none" }
  | { readonly outcome: "unavailable"; readonly reason: string };

/** One preflight answer. A failed check stops the start unless forced, which is recorded; a warning is told and stops nothing. */
export interface Check {
  readonly name: string;
  readonly outcome: "ok" | "failed" | "unknown" | "warning";
  readonly detail: string;
  readonly hint?: string;
}

/** A problem that can be told without asking any machine. */
export interface LaunchProblem {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** Position in a log; survives restarts. Bytes (lines where a provider keeps none), and its own token as JSON, where it has one. */
export interface LogCursor {
  readonly offset: number;
  readonly token?: string;
}
export interface LogChunk {
  readonly lines: readonly string[];
  readonly cursor: LogCursor;
}
