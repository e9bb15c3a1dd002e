import type { RunState } from "./schema.ts";

/**
 * Where a run may go from each state: the one table, total over all states. Terminal states lead nowhere, but for what a
 * person decides: `run resume` reopens with a new attempt, `run settle` resolves `lost`.
 */
export const TRANSITIONS: Readonly<Record<RunState, readonly RunState[]>> = {
  draft: ["packaged", "blocked", "failed", "cancelled"],
  packaged: ["waiting", "blocked", "submitting", "failed", "cancelled"],
  waiting: ["submitting", "blocked", "cancelled", "failed", "timed_out"],
  // The run it waits for goes on after all.
  blocked: ["waiting", "submitting", "cancelled"],
  submitting: [
    "ambiguous",
    "waiting",
    "queued",
    "starting",
    "running",
    "cancelling",
    "failed",
    "cancelled",
    "lost",
  ],
  ambiguous: [
    "submitting",
    "queued",
    "starting",
    "running",
    "cancelling",
    "failed",
    "cancelled",
    "lost",
    "recovering",
    "succeeded",
    "timed_out",
  ],
  queued: [
    "starting",
    "running",
    "recovering",
    "waiting",
    "cancelling",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
    "lost",
  ],
  starting: [
    "queued",
    "running",
    "recovering",
    "waiting",
    "cancelling",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
    "lost",
  ],
  running: [
    "queued",
    "recovering",
    "waiting",
    "cancelling",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
    "lost",
  ],
  // The far side may have gone on by itself and finished before anybody looked.
  recovering: [
    "submitting",
    "waiting",
    "queued",
    "starting",
    "running",
    "cancelling",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
    "lost",
  ],
  cancelling: ["succeeded", "failed", "cancelled", "timed_out", "lost"],
  succeeded: [],
  failed: ["submitting"],
  cancelled: ["submitting"],
  timed_out: ["submitting"],
  lost: ["submitting", "succeeded", "failed", "cancelled", "timed_out"],
};

/** True when the table allows it. Staying in a state is always allowed: only the words about it change. */
export const mayGo = (from: RunState, to: RunState): boolean => from === to || TRANSITIONS[from].includes(to);
