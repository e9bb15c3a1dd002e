import { z } from "zod";

export const RUN_STATES = [
  "draft",
  "packaged",
  "waiting",
  "blocked",
  "submitting",
  "ambiguous",
  "queued",
  "starting",
  "running",
  "recovering",
  "cancelling",
  "succeeded",
  "failed",
  "cancelled",
  "timed_out",
  "lost",
] as const;
export const RunState = z.enum(RUN_STATES);
export type RunState = z.infer<typeof RunState>;

export const TERMINAL_STATES: readonly RunState[] = [
  "succeeded",
  "failed",
  "cancelled",
  "timed_out",
  "lost",
  "blocked",
];

/** One piece of work with one durable record, whatever number of attempts it takes. */
export interface Run {
  readonly id: string;
  readonly kind: "train" | "infer" | "score" | "measure" | "merge";
  readonly name: string;
  readonly state: RunState;
  /** The state in words. */
  readonly reason: string;
  readonly recipeDigest: string | null;
  /** Frozen JSON: resolved recipe, profile, job. */
  readonly lock: unknown;
  readonly parentId: string | null;
  /** Groups the runs of one pipeline. */
  readonly pipelineId: string | null;
  readonly stopRequested: boolean;
  /** The stop does not wait for a save. */
  readonly stopNow: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When the job itself was last seen. */
  readonly lastSeenAt: string | null;
}

export interface Attempt {
  readonly runId: string;
  readonly number: number;
  readonly marker: string;
  readonly token: string;
  readonly refs: unknown;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Stable word from the reason table, null while it lives. */
  readonly reason: string | null;
  readonly exitCode: number | null;
  /** What was seen, kept for good. */
  readonly evidence: unknown;
}

export interface RunEvent {
  readonly sequence: number;
  readonly runId: string;
  readonly attempt: number | null;
  readonly at: string;
  readonly type: string;
  readonly data: unknown;
}

export interface Metric {
  readonly runId: string;
  readonly attempt: number;
  readonly step: number;
  /** `train/loss`, `dev/loss`, `train/learning_rate`, … */
  readonly name: string;
  readonly value: number;
  readonly at: string;
}

/** A line of the payload's events.jsonl. Total: an unknown type is kept as it is. */
export const PayloadEvent = z.looseObject({
  v: z.literal(1),
  at: z.string(),
  attempt: z.int(),
  type: z.string(),
});
export type PayloadEvent = z.infer<typeof PayloadEvent>;
