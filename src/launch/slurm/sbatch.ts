import { InternalError } from "../../core/errors.ts";
import type { AttemptLayout } from "../attempt-layout.ts";
import type { ProfileOf } from "../profile.ts";
import type { AttemptContext, Job, Plan } from "../schema.ts";
import { slurmResources } from "./resources.ts";

type SlurmProfile = ProfileOf<"slurm">;
type Argv = Plan["argv"];

/** Options of sbatch that are ours alone: `extra` of a profile may not name them. Value: where to set them instead. */
export const OWN_OPTIONS: Readonly<Record<string, string>> = {
  account: "account",
  array: "",
  chdir: "",
  comment: "",
  constraint: "constraint",
  "cpus-per-task": "cpusPerTask",
  dependency: "",
  error: "",
  exclude: "exclude",
  export: "",
  "export-file": "",
  "get-user-env": "",
  gid: "",
  gres: "gres",
  input: "",
  "job-name": "",
  "kill-on-invalid-dep": "",
  mem: "memory",
  nodes: "nodes",
  ntasks: "processes",
  "ntasks-per-node": "processes",
  "no-requeue": "requeue",
  "open-mode": "",
  output: "",
  parsable: "",
  partition: "partition",
  qos: "qos",
  requeue: "requeue",
  reservation: "reservation",
  signal: "signalSeconds",
  "test-only": "",
  time: "time",
  uid: "",
  wait: "",
  wrap: "",
};

/**
 * Whether Slurm may start a job again by itself. Its secrets can be read only once, so a job with any comes back as a new one. The
 * hub's token is none of them: only the download needs it, and a start whose model is complete asks the hub nothing. One that is
 * interrupted within the download of a model that needs a token ends with MODEL_DENIED; a resumed run brings the token again.
 */
export const mayRequeue = (job: Pick<Job, "secrets">, profile: SlurmProfile): boolean =>
  profile.requeue && job.secrets.length === 0;

/** Nodes that no job of the submission gets, as sbatch takes them; undefined without any. */
export const excludedNodes = (profile: SlurmProfile, attempt: AttemptContext): string | undefined => {
  const nodes = new Set([...profile.exclude, ...(attempt.excludedNodes ?? [])]);
  return nodes.size === 0 ? undefined : [...nodes].join(",");
};

/** The command that submits one link; all of them differ only in their number. Nothing of it is read by a shell. */
export const sbatchCommand = (request: {
  readonly job: Pick<Job, "kind" | "runId" | "secrets">;
  readonly profile: SlurmProfile;
  readonly attempt: AttemptContext;
  readonly layout: AttemptLayout;
  readonly script: string;
  readonly link: number;
}): Argv => {
  const { job, profile, attempt, layout, script, link } = request;
  const { nodes, gres, cpusPerTask, memory } = slurmResources(job, profile);
  const log = escapedPattern(`${layout.folder}/link-${link}.txt`);
  const comment = JSON.stringify({ marker: attempt.marker, link, links: profile.chain, run: job.runId });
  return [
    "sbatch",
    "--parsable",
    `--job-name=${attempt.marker}`,
    `--comment=${comment}`,
    "--export=NONE",
    `--chdir=${layout.folder}`,
    `--output=${log}`,
    `--error=${log}`,
    "--open-mode=append",
    mayRequeue(job, profile) ? "--requeue" : "--no-requeue",
    `--signal=B:USR1@${profile.signalSeconds}`,
    ...(profile.chain > 1 ? ["--dependency=singleton"] : []),
    `--time=${profile.time}`,
    ...option("account", profile.account),
    ...option("partition", profile.partition),
    ...option("qos", profile.qos),
    ...option("constraint", profile.constraint),
    ...option("reservation", profile.reservation),
    ...option("exclude", excludedNodes(profile, attempt)),
    `--nodes=${nodes}`,
    "--ntasks-per-node=1",
    ...option("cpus-per-task", cpusPerTask),
    ...option("mem", memory),
    ...option("gres", gres),
    ...profile.extra,
    script,
    String(link),
    String(profile.chain),
  ];
};

/** What a command excludes, as sbatch takes it; undefined when it excludes nothing. */
export const exclusionOf = (argv: Argv): string | undefined =>
  argv.find((word) => word.startsWith(EXCLUDE))?.slice(EXCLUDE.length);

/** The command with these nodes excluded instead of what it excludes. */
export const excluding = (argv: Argv, nodes: readonly string[]): Argv => {
  const [program, ...rest] = argv;
  const kept = nodes.length === 0 ? [] : [`${EXCLUDE}${nodes.join(",")}`];
  return [program, ...rest.flatMap((word) => (word.startsWith(EXCLUDE) ? kept : [word]))];
};

const EXCLUDE = "--exclude=";

/** The command of a link of a plan, 1 being the first. */
export const sbatchArgv = (plan: Plan, link: number): Argv => {
  const argv = [plan.argv, ...(plan.further ?? [])][link - 1];
  if (argv !== undefined) return argv;
  throw new InternalError("LINK_UNKNOWN", `${plan.attempt.marker} has no link ${link}`);
};

/** How many jobs a plan submits. */
export const linksOf = (plan: Plan): number => 1 + (plan.further ?? []).length;

function option(name: string, value: string | number | null | undefined): string[] {
  return value === undefined || value === null ? [] : [`--${name}=${value}`];
}

// In the name of a log, % begins a placeholder.
function escapedPattern(path: string): string {
  return path.replaceAll("%", "%%");
}
