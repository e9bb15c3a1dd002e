import { OWN_OPTIONS } from "./sbatch.ts";

/** What a failed sbatch means. `ambiguous`: the job may be there. */
export type Refusal =
  | { readonly kind: "permanent"; readonly reason: string; readonly hint?: string }
  /** Not submitted, and may be accepted later. */
  | { readonly kind: "wait"; readonly reason: string }
  /** Not submitted: the commands cannot talk to the controller. */
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "ambiguous"; readonly reason: string };

type Row = readonly [pattern: RegExp, kind: Refusal["kind"], hint?: string | ((option: string) => string)];

// The first match decides. Texts are those of slurm_errno.c and of sbatch itself.
const TABLE: readonly Row[] = [
  // Sent, and nobody knows how it went on.
  [
    /Socket timed out|Zero Bytes were transmitted|Unexpected message received|Message receive failure/i,
    "ambiguous",
  ],
  [/Unable to contact slurm controller/i, "ambiguous"],
  // A limit on how many jobs one may have in the queue; sbatch names it in a line of its own.
  [/(QOS|Assoc)\w*Submit\w*/i, "wait"],
  [/temporarily unable to accept job|Resource temporarily unavailable|try again later/i, "wait"],
  [/Required partition not available|Required node not available|Requested nodes are busy/i, "wait"],
  [/controller in standby mode|Slurm controller is (still )?starting/i, "wait"],
  [/Munge encode failed/i, "unreachable"],
  [/(QOS|Assoc)[A-Z]\w+/, "permanent", "ask for fewer GPUs or a shorter time, or for another qos"],
  [
    /invalid partition|Invalid partition name/i,
    "permanent",
    "set partition: in the profile; `sinfo -s` lists those that exist",
  ],
  [
    /Invalid account or account\/partition combination/i,
    "permanent",
    "set account: in the profile; `sacctmgr show assoc user=$USER` lists yours",
  ],
  [
    /Invalid qos/i,
    "permanent",
    "set qos: in the profile; `sacctmgr show assoc user=$USER format=qos` lists yours",
  ],
  [
    /Requested node configuration is not available/i,
    "permanent",
    "no node of the partition has that much; see `sinfo -o '%P %G %c %m'`",
  ],
  [/generic resource/i, "permanent", "set gres: in the profile, e.g. gpu:h100:8; see `sinfo -o '%P %G'`"],
  [
    /Requested time limit is invalid/i,
    "permanent",
    "set time: below the partition's limit; see `sinfo -o '%P %l'`",
  ],
  [/Memory (specification|required)/i, "permanent", "set memory: in the profile to what one node has"],
  [
    /Invalid (node name|feature|job array|license|wckey|reservation)|Requested reservation is invalid|Reservation \S+ invalid/i,
    "permanent",
  ],
  [
    /Node count specification invalid|More processors requested|Requested partition configuration not available/i,
    "permanent",
  ],
  [
    /group not permitted|Access\/permission denied|Invalid user id|Access denied/i,
    "permanent",
    "ask the site which account and partition you may use",
  ],
  [
    /Job dependency problem|Invalid job credential|Pathname of a file, directory or other parameter too long/i,
    "permanent",
  ],
  [
    /This does not look like a batch script|DOS line breaks|Unable to open file|Batch script is empty/i,
    "permanent",
  ],
  [/Invalid --(?<option>[a-z-]+) specification/i, "permanent", valueHint],
  [/Invalid numeric value .* for --(?<option>[a-z-]+)/i, "permanent", valueHint],
  [/is not a valid node count/i, "permanent", () => valueHint("nodes")],
  [/Invalid Trackable RESource/i, "permanent", () => valueHint("gres")],
  [
    /(unrecognized|invalid|unknown) option/i,
    "permanent",
    "see extra: in the profile; this version of sbatch does not know the option",
  ],
  // Of a limit that is not named: those for jobs in the queue pass, and waiting for the others is visible.
  [/Job violates accounting\/QOS policy/i, "wait"],
];

function valueHint(option: string): string {
  const key = OWN_OPTIONS[option] ?? "";
  return key === ""
    ? `see --${option} in extra: of the profile; this version of sbatch does not take its value`
    : `see ${key}: in the profile; this version of sbatch does not take its value`;
}

/** True when sbatch refused a job because of a node's name that the cluster does not know. */
export const isUnknownNode = (stderr: string): boolean => /Invalid node name/i.test(stderr);

/** What standard error of a failed sbatch says; anything that is not in the table is ambiguous. */
export const readRefusal = (code: number, stderr: string): Refusal => {
  const reason = essence(stderr) || `sbatch ended with ${code} and said nothing`;
  if (code === 127 || code === 126) {
    return { kind: "permanent", reason, hint: "put Slurm's commands on the PATH of a non-interactive shell" };
  }
  const row = TABLE.find(([pattern]) => pattern.test(stderr));
  if (row === undefined) return { kind: "ambiguous", reason };
  const [pattern, kind, advice] = row;
  const option = pattern.exec(stderr)?.groups?.["option"] ?? "";
  const hint = typeof advice === "function" ? advice(option) : advice;
  return kind === "permanent" && hint !== undefined ? { kind, reason, hint } : { kind, reason };
};

/** A command's error text on one line, without the names of programs in front. */
export const essence = (stderr: string): string =>
  stderr
    .split("\n")
    .map((line) =>
      line.replace(/^(sbatch|squeue|sacct|scancel|scontrol|sacctmgr|sinfo): (error: )?/, "").trim(),
    )
    .filter((line) => line !== "")
    .join("; ")
    .slice(0, 2000);

/** True when a command's standard error says that something went wrong, whatever its exit code. */
export const hasErrorText = (stderr: string): boolean =>
  /\berror\b|timed out|time(d)?out|unable to|fail(ed|ure)|refused|denied|invalid|cannot|can't|not found|fatal/i.test(
    stderr,
  );
