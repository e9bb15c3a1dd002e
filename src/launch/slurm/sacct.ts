import type { ExecOutcome } from "../transport/transport.ts";
import { parseJobId } from "./job-id.ts";
import { failureOf, linesOf, type Looked } from "./squeue.ts";
import { readState, type ReadState } from "./states.ts";
import { slurmMoment } from "./times.ts";

/** One run of one job in the accounts: a job that was requeued has several. */
export interface AccountedJob {
  readonly id: string;
  readonly state: ReadState;
  /** CODE:SIGNAL as the accounts have it: bit 7 of the code is lost. */
  readonly exit: string;
  readonly uid: number | null;
  readonly submit: number | null;
  readonly start: number | null;
  readonly end: number | null;
  readonly nodes: string;
  readonly name: string;
}

// 22.05 knows no `Restarts`; a job's name is free text: it comes last.
const FIELDS = [
  "JobIDRaw",
  "State",
  "ExitCode",
  "UID",
  "Submit",
  "Start",
  "End",
  "NodeList",
  "JobName",
] as const;

// A list of ids is one argument, and those are limited to 128 KiB.
const MOST_IDS = 8000;

/** What a row is called before its job's own name has reached the accounts. */
export const YOUNG = "allocation";

export interface SacctQuery {
  readonly cluster: readonly string[];
  /** Seconds before now at which the window begins: no time zone in it, no clock of ours. */
  readonly sinceSeconds: number;
  readonly ids?: readonly string[];
  /** Only of this user: root would be shown those of all. */
  readonly uid?: number;
}

/** One query for any number of jobs, duplicates (runs before a requeue) included. */
export const sacctArgv = (query: SacctQuery): readonly [string, ...string[]] => {
  const { cluster, sinceSeconds, ids = [], uid } = query;
  return [
    "sacct",
    ...cluster,
    "-X",
    "-P",
    "-n",
    "-D",
    "-S",
    `now-${Math.max(60, Math.ceil(sinceSeconds))}seconds`,
    ...(ids.length === 0 || ids.length > MOST_IDS ? [] : ["-j", ids.join(",")]),
    ...(uid === undefined ? [] : [`--user=${uid}`]),
    "-o",
    FIELDS.join(","),
  ];
};

/** True when the cluster keeps no accounts at all, which is known once and for all. */
export const hasNoAccounts = (outcome: ExecOutcome): boolean =>
  outcome.kind === "exited" &&
  /accounting storage is disabled|not running a supported accounting_storage/i.test(outcome.stderr);

/** Rows of `sacctArgv`, oldest first. */
export const readSacct = (outcome: ExecOutcome): Looked<AccountedJob> => {
  const failure = failureOf("sacct", outcome);
  if (failure !== undefined) return { worked: false, why: failure };
  const lines = outcome.kind === "exited" ? linesOf(outcome.stdout) : [];
  const rows = lines.map(readRow);
  return {
    worked: true,
    rows: rows.filter((row) => row !== undefined).toSorted((a, b) => (a.submit ?? 0) - (b.submit ?? 0)),
    whole: !rows.includes(undefined),
  };
};

function readRow(line: string): AccountedJob | undefined {
  const fields = line.split("|");
  if (fields.length < FIELDS.length) return undefined;
  const [id = "", state = "", exit = "", uid = "", submit = "", start = "", end = "", nodes = ""] = fields;
  const parsed = parseJobId(id);
  if (parsed === undefined) return undefined;
  return {
    id: String(parsed.base),
    state: readState(state),
    exit,
    uid: /^\d+$/.test(uid) ? Number(uid) : null,
    submit: slurmMoment(submit),
    start: slurmMoment(start),
    end: slurmMoment(end),
    nodes,
    name: fields.slice(FIELDS.length - 1).join("|"),
  };
}
