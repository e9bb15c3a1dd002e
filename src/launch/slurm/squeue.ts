import type { ExecOutcome } from "../transport/transport.ts";
import { parseJobId } from "./job-id.ts";
import { essence, hasErrorText } from "./refusals.ts";
import { readState, type ReadState } from "./states.ts";
import { slurmMoment } from "./times.ts";

/** One job as squeue lists it; ended ones stay in it for a while (MinJobAge). */
export interface QueuedJob {
  readonly id: string;
  readonly state: ReadState;
  /** Why it waits, or how it ended. */
  readonly reason: string;
  readonly nodes: string;
  readonly uid: number | null;
  readonly submit: number | null;
  readonly start: number | null;
  readonly end: number | null;
  readonly name: string;
  readonly comment: string;
}

/** What a query found, or why it found nothing that counts. */
export type Looked<Row> =
  | {
      readonly worked: true;
      readonly rows: readonly Row[];
      /** False when a line could not be read: what is not listed may have been in it. */
      readonly whole: boolean;
    }
  | { readonly worked: false; readonly why: string };

// Names and comments are free text: they come last.
const COLUMNS = "%i|%T|%N|%U|%V|%S|%e|%r|%j|%k";
const COUNT = COLUMNS.split("|").length;

/** Everything of this user, ended or not: one query whatever the number of jobs. */
export const squeueArgv = (cluster: readonly string[]): readonly [string, ...string[]] => [
  "squeue",
  ...cluster,
  "-h",
  // Without it, jobs of hidden partitions are left out, one's own too.
  "--all",
  "--me",
  "-t",
  "all",
  "-o",
  COLUMNS,
];

/** Rows of `squeueArgv`. An error on standard error counts, whatever the exit code. */
export const readSqueue = (outcome: ExecOutcome): Looked<QueuedJob> => {
  const failure = failureOf("squeue", outcome);
  if (failure !== undefined) return { worked: false, why: failure };
  const lines = outcome.kind === "exited" ? linesOf(outcome.stdout) : [];
  const rows = lines.map(readRow);
  return {
    worked: true,
    rows: rows.filter((row) => row !== undefined),
    whole: !rows.includes(undefined),
  };
};

/** Why a query says nothing, or undefined when it worked. */
export const failureOf = (program: string, outcome: ExecOutcome): string | undefined => {
  if (outcome.kind === "transport-error") return outcome.reason;
  if (outcome.kind === "signalled") return `${program} was ended by ${outcome.signal}`;
  const said = essence(outcome.stderr);
  if (outcome.code === 124 || outcome.code === 137) return `${program} gave no answer in time`;
  if (outcome.code !== 0) return `${program} ended with ${outcome.code}${said === "" ? "" : `: ${said}`}`;
  return hasErrorText(outcome.stderr) ? `${program}: ${said}` : undefined;
};

/** Lines of an answer without the heading that -M puts before each cluster. */
export const linesOf = (stdout: Buffer): readonly string[] =>
  stdout
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("CLUSTER: "));

function readRow(line: string): QueuedJob | undefined {
  const fields = line.split("|");
  if (fields.length < COUNT) return undefined;
  const field = (index: number): string => fields[index] ?? "";
  const parsed = parseJobId(field(0));
  if (parsed === undefined) return undefined;
  const uid = field(3);
  return {
    id: String(parsed.base),
    state: readState(field(1)),
    nodes: field(2),
    uid: /^\d+$/.test(uid) ? Number(uid) : null,
    submit: slurmMoment(field(4)),
    start: slurmMoment(field(5)),
    end: slurmMoment(field(6)),
    reason: field(7),
    name: field(8),
    comment: fields.slice(COUNT - 1).join("|"),
  };
}
