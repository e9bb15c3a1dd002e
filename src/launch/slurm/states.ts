import type { EndCause } from "../schema.ts";

/** What a state word of Slurm says about a job. */
export type SlurmState =
  | { readonly phase: "live"; readonly state: "queued" | "starting" | "running" | "stopping" | "unknown" }
  | { readonly phase: "ended"; readonly cause: EndCause };

const live = (state: "queued" | "starting" | "running" | "stopping"): SlurmState => ({
  phase: "live",
  state,
});
const ended = (cause: EndCause): SlurmState => ({ phase: "ended", cause });

const STATES: Readonly<Record<string, SlurmState>> = {
  PENDING: live("queued"),
  REQUEUED: live("queued"),
  REQUEUE_FED: live("queued"),
  REQUEUE_HOLD: live("queued"),
  RESV_DEL_HOLD: live("queued"),
  SPECIAL_EXIT: live("queued"),
  // Of a federation: it goes on in another cluster.
  REVOKED: live("queued"),
  CONFIGURING: live("starting"),
  POWER_UP_NODE: live("starting"),
  RUNNING: live("running"),
  RESIZING: live("running"),
  SIGNALING: live("running"),
  STOPPED: live("running"),
  SUSPENDED: live("running"),
  COMPLETING: live("stopping"),
  STAGE_OUT: live("stopping"),
  COMPLETED: ended("completed"),
  FAILED: ended("failed"),
  LAUNCH_FAILED: ended("failed"),
  RECONFIG_FAIL: ended("failed"),
  DEADLINE: ended("walltime"),
  TIMEOUT: ended("walltime"),
  PREEMPTED: ended("preempted"),
  NODE_FAIL: ended("node_fail"),
  BOOT_FAIL: ended("node_fail"),
  OUT_OF_MEMORY: ended("out_of_memory"),
  CANCELLED: ended("cancelled"),
};

const CODES: Readonly<Record<string, string>> = {
  BF: "BOOT_FAIL",
  CA: "CANCELLED",
  CD: "COMPLETED",
  CF: "CONFIGURING",
  CG: "COMPLETING",
  DL: "DEADLINE",
  F: "FAILED",
  NF: "NODE_FAIL",
  OOM: "OUT_OF_MEMORY",
  PD: "PENDING",
  PR: "PREEMPTED",
  R: "RUNNING",
  RD: "RESV_DEL_HOLD",
  RF: "REQUEUE_FED",
  RH: "REQUEUE_HOLD",
  RQ: "REQUEUED",
  RS: "RESIZING",
  RV: "REVOKED",
  S: "SUSPENDED",
  SE: "SPECIAL_EXIT",
  SI: "SIGNALING",
  SO: "STAGE_OUT",
  ST: "STOPPED",
  TO: "TIMEOUT",
};

/** A state as squeue or sacct print it. */
export interface ReadState {
  /** Of the table; the raw text when it is not in it. */
  readonly word: string;
  readonly state: SlurmState;
  /** Who cancelled it, where the text says so. */
  readonly uid: number | null;
}

/**
 * Any text: the long words, the two-letter codes, words cut off with `+`, `CANCELLED by UID`. What is not known, or not
 * known for certain, counts as live: an unknown word never ends a job.
 */
export const readState = (text: string): ReadState => {
  const raw = text.trim();
  const uid = /\bby\s+(\d+)/.exec(raw)?.[1];
  const head = (/^[A-Za-z_]+\+?/.exec(raw)?.[0] ?? "").toUpperCase();
  const word = wholeWord(head);
  const state = word === undefined ? undefined : STATES[word];
  return {
    word: state === undefined || word === undefined ? raw : word,
    state: state ?? { phase: "live", state: "unknown" },
    uid: uid === undefined ? null : Number(uid),
  };
};

function wholeWord(head: string): string | undefined {
  if (!head.endsWith("+")) return STATES[head] === undefined ? CODES[head] : head;
  const cut = head.slice(0, -1);
  const candidates = Object.keys(STATES).filter((word) => word.startsWith(cut));
  return candidates.length === 1 ? candidates[0] : undefined;
}
