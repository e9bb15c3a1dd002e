import type { EndCause, Observation, WrapperResult } from "../launch/index.ts";
import { END_REASONS, type EndReason, type EndReasonName } from "./reasons.ts";

/** What is known about an attempt besides what the launcher sees. */
export interface Evidence {
  /** A person asked for the stop. */
  readonly stopRequested: boolean;
  /** The job kind's own proof: train: planned stop reached and a complete final checkpoint; others: their done files. */
  readonly proof: boolean;
  /** The last event the payload wrote in this attempt, e.g. `stopped`; null when there is none. */
  readonly lastEvent: { readonly type: string; readonly code?: string | undefined } | null;
  /** The attempt has left a newer complete checkpoint than there was before it. Default: no. */
  readonly progress?: boolean;
  /** Absent in working queries, twice, past the launcher's lag, and no result file: decided by who watches. */
  readonly absenceProven?: boolean;
  /**
   * Files and records have had the launcher's lag to arrive since the end was first seen. Until then nothing is concluded
   * from what is missing. Default: yes, nothing lags.
   */
  readonly waited?: boolean;
}

export interface Ending extends EndReason {
  readonly name: EndReasonName;
  readonly exitCode: number | null;
  /** The table's sentence with what was seen. */
  readonly detail: string;
}

type Ended = Extract<Observation, { phase: "ended" }>;

/**
 * How an attempt ended, or null while nothing proves that it has. Pure and total. The three witnesses of success are the
 * scheduler's end, a result with exit 0 and the job's own proof: with all three the scheduler's word for the end does not
 * matter (a node may die right after the result was written), but for words nobody understands, which are neither success
 * nor failure. An exit code that is not in CONTRACT.md is a failure, a missing result is never success, `unavailable` and
 * a single `absent` prove nothing.
 */
export const classify = (observation: Observation, evidence: Evidence): Ending | null => {
  switch (observation.phase) {
    case "live":
    case "unavailable":
      return null;
    case "absent":
      return evidence.absenceProven ? ending("evidence_missing", null, observation.detail) : null;
    case "ended": {
      const name = reasonOf(observation, evidence);
      return name === null
        ? null
        : ending(name, observation.result?.exitCode ?? null, seen(observation, name));
    }
    default:
      return null;
  }
};

function ending(name: EndReasonName, exitCode: number | null, words: string): Ending {
  const row: EndReason = END_REASONS[name];
  return { ...row, name, exitCode, detail: words === "" ? row.sentence : `${row.sentence} (${words})` };
}

// Who reads that a run succeeded or crashed should also read that its scheduler says something else.
function seen({ detail, cause }: Ended, name: EndReasonName): string {
  const isOrdinary = cause === undefined || cause === "completed" || cause === "failed";
  if (isOrdinary || name !== "succeeded") return detail;
  return `${detail === "" ? "" : `${detail}; `}its scheduler says ${cause.replaceAll("_", " ")}`;
}

const EXIT = { success: 0, config: 2, stopped: 3, unfit: 69, fenced: 75 } as const;

function reasonOf(observation: Ended, evidence: Evidence): EndReasonName | null {
  const { cause, result } = observation;
  if (cause === "unknown") return evidence.stopRequested ? "cancelled" : "unknown";
  if (cause === "fenced") return "fenced";
  if (result !== null) {
    const decided = ownWords(result, evidence);
    if (decided) return decided;
  }
  // The checkpoint saved at the time limit, and the events that tell of it, may arrive after the result.
  if (cause === "walltime" && mayHaveMore(observation, evidence)) return null;
  const named = cause && CAUSES[cause]?.(evidence);
  if (named) return named;
  return result === null ? withoutResult(observation, evidence) : byResult(result, evidence);
}

const mayHaveMore = ({ continues }: Ended, { progress, waited, stopRequested }: Evidence): boolean =>
  waited === false && !progress && !stopRequested && continues === undefined;

// What the program itself has made certain holds whatever else ended it.
function ownWords(result: WrapperResult, { proof }: Evidence): EndReasonName | undefined {
  if (result.reason !== "exited") return undefined;
  if (result.exitCode === EXIT.success) return proof ? "succeeded" : undefined;
  if (result.exitCode === EXIT.config) return "config_error";
  return result.exitCode === EXIT.fenced ? "fenced" : undefined;
}

const unlessStopped =
  (name: EndReasonName) =>
  ({ stopRequested }: Evidence): EndReasonName =>
    stopRequested ? "cancelled" : name;

/** Ends that come from outside: the program's own exit code only says how it took them. */
const CAUSES: Readonly<Partial<Record<EndCause, (evidence: Evidence) => EndReasonName>>> = {
  preempted: unlessStopped("preempted"),
  node_fail: unlessStopped("node_lost"),
  walltime: (evidence) => unlessStopped(evidence.progress ? "walltime" : "walltime_no_progress")(evidence),
  out_of_memory: () => "out_of_memory",
  cancelled: unlessStopped("cancelled_by_other"),
  cancelled_by_other: unlessStopped("cancelled_by_other"),
};

function withoutResult(observation: Ended, evidence: Evidence): EndReasonName | null {
  const { cause, continues } = observation;
  if (cause === undefined) return unlessStopped("node_lost")(evidence);
  if (cause === "no_capacity" || cause === "not_started") return unlessStopped(cause)(evidence);
  // The far side has gone on: nothing more is written for this attempt.
  if (evidence.waited === false && !continues) return null;
  const isWithoutTrace = cause === "failed" || continues !== undefined;
  return unlessStopped(isWithoutTrace ? "node_lost" : "result_missing")(evidence);
}

function byResult(result: WrapperResult, evidence: Evidence): EndReasonName | null {
  const { stopRequested, waited } = evidence;
  if (result.reason === "node-check" || result.exitCode === EXIT.unfit) {
    return stopRequested ? "cancelled" : "node_check";
  }
  if (result.reason === "signalled") return signalled(result, evidence);
  switch (result.exitCode) {
    case EXIT.success:
      if (waited === false) return null;
      return stopRequested ? "cancelled" : "no_proof";
    case EXIT.stopped:
      return stopRequested ? "cancelled" : "stopped";
    default:
      return crash(evidence);
  }
}

function signalled(result: WrapperResult, evidence: Evidence): EndReasonName {
  if (evidence.stopRequested) return "cancelled";
  // Somebody ended it from outside; SEGV, ABRT and the like are the program's own.
  return ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"].includes(result.signal ?? "")
    ? "killed"
    : crash(evidence);
}

// Under torchrun the code is 1 whatever the workers ended with; the payload's own last event tells.
function crash({ lastEvent, stopRequested }: Evidence): EndReasonName {
  if (lastEvent?.type === "stopped") return stopRequested ? "cancelled" : "stopped";
  if (lastEvent?.type === "failed")
    return /MEMORY|OOM/.test(lastEvent.code ?? "") ? "out_of_memory" : "crashed";
  return "crashed";
}
