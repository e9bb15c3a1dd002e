import type { Observation, WrapperResult } from "../launch/index.ts";
import { END_REASONS, type EndReason, type EndReasonName } from "./reasons.ts";

/** What is known about an attempt besides what the launcher sees. */
export interface Evidence {
  /** A person asked for the stop. */
  readonly stopRequested: boolean;
  /** The job kind's own proof: train: planned stop reached and a complete final checkpoint; others: their done files. */
  readonly proof: boolean;
  /** The last event the payload wrote in this attempt, e.g. `stopped`; null when there is none. */
  readonly lastEvent: { readonly type: string; readonly code?: string | undefined } | null;
  /** Absent in working queries, twice, past the launcher's lag, and no result file: decided by who watches. */
  readonly absenceProven?: boolean;
}

export interface Ending extends EndReason {
  readonly name: EndReasonName;
  readonly exitCode: number | null;
  /** The table's sentence with what was seen. */
  readonly detail: string;
}

/**
 * How an attempt ended, or null while nothing proves that it has. Pure and total: an exit code that is not in CONTRACT.md
 * is a failure, a missing result is never success, `unavailable` and a single `absent` prove nothing.
 */
export const classify = (observation: Observation, evidence: Evidence): Ending | null => {
  switch (observation.phase) {
    case "live":
    case "unavailable":
      return null;
    case "absent":
      return evidence.absenceProven ? ending("evidence_missing", null, observation.detail) : null;
    case "ended": {
      const { result, detail } = observation;
      if (result === null) return ending(evidence.stopRequested ? "cancelled" : "node_lost", null, detail);
      return ending(reasonOf(result, evidence), result.exitCode, detail);
    }
    default:
      return null;
  }
};

function ending(name: EndReasonName, exitCode: number | null, seen: string): Ending {
  const row: EndReason = END_REASONS[name];
  return { ...row, name, exitCode, detail: seen === "" ? row.sentence : `${row.sentence} (${seen})` };
}

const EXIT = { success: 0, config: 2, stopped: 3, fenced: 75 } as const;

function reasonOf(result: WrapperResult, evidence: Evidence): EndReasonName {
  const { stopRequested, proof } = evidence;
  if (result.reason === "node-check") return stopRequested ? "cancelled" : "node_check";
  if (result.reason === "signalled") return signalled(result, evidence);
  switch (result.exitCode) {
    case EXIT.success:
      if (proof) return "succeeded";
      return stopRequested ? "cancelled" : "no_proof";
    case EXIT.config:
      return "config_error";
    case EXIT.stopped:
      return stopRequested ? "cancelled" : "stopped";
    case EXIT.fenced:
      return "fenced";
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
