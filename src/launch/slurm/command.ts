import { messageOf, UserError } from "../../core/errors.ts";
import type { ExecOutcome, Transport } from "../transport/transport.ts";

type Argv = readonly [string, ...string[]];

// An outer allocation's variables change what a job gets, a person's own change what the queries print. Two say which
// cluster is meant.
const KEPT = ["SLURM_CONF", "SLURM_CLUSTERS"];
const DROPPED = /^(SLURM|SBATCH|SRUN|SALLOC|SQUEUE|SACCT|SCANCEL|SINFO|SCONTROL|SLURMD)_[A-Za-z0-9_]*$/;

// The same rule where the command runs: what the login shell of a far machine exports is not known here.
const SCRUB = `for n in $(env | cut -d= -f1); do
case $n in *[!A-Za-z0-9_]*|${KEPT.join("|")}) ;; SLURM_*|SBATCH_*|SRUN_*|SALLOC_*|SQUEUE_*|SACCT_*|SCANCEL_*|SINFO_*|SCONTROL_*|SLURMD_*) unset -v "$n" ;; esac
done
LC_ALL=C SLURM_TIME_FORMAT=%s
export LC_ALL SLURM_TIME_FORMAT`;

/** Names of variables that no Slurm command started by us gets to see, sorted. */
export const droppedNames = (environment: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.keys(environment)
    .filter((name) => environment[name] !== undefined && DROPPED.test(name) && !KEPT.includes(name))
    .toSorted();

/**
 * A Slurm command with a scrubbed environment, times as seconds since the epoch, and messages in English. It is ended where it
 * runs when its time is over: one that hangs must not outlive a lost connection and still submit something.
 */
export const scrubbed = (argv: Argv, deadlineSeconds: number): Argv => [
  "sh",
  "-c",
  `${SCRUB}\nexec timeout -k 5 "$@"`,
  "slurm",
  String(deadlineSeconds),
  ...argv,
];

/** A script of POSIX shell with the same environment. */
export const scrubbedScript = (script: string, ...args: string[]): Argv => [
  "sh",
  "-c",
  `${SCRUB}\n${script}`,
  "slurm",
  ...args,
];

/** `-M CLUSTER` where a federation has several. */
export const onCluster = (cluster: string | null): readonly string[] =>
  cluster === null ? [] : ["-M", cluster];

/** One command; a transport that throws is a transport error as well: what the person has to mend first is `UNFIT`. */
export const execute = async (
  transport: Transport,
  argv: Argv,
  options: { readonly deadline: number; readonly stdin?: string; readonly limit?: number },
): Promise<ExecOutcome> => {
  try {
    return await transport.exec(argv, options);
  } catch (error) {
    // Of opening the connection: nothing has been sent.
    if (error instanceof UserError) {
      const hint = error.hint === undefined ? {} : { hint: error.hint };
      return { kind: "transport-error", started: "no", code: "UNFIT", reason: error.message, ...hint };
    }
    return { kind: "transport-error", started: "unknown", code: "CONNECTION_LOST", reason: messageOf(error) };
  }
};
