import { farProblems } from "../far/index.ts";
import type { ProfileOf } from "../profile.ts";
import type { Check, Job, LaunchProblem } from "../schema.ts";
import { validateJob } from "../validate-job.ts";
import { trainingOf } from "./plan-progress.ts";
import { slurmResources } from "./resources.ts";
import { slurmSeconds } from "./times.ts";
import { optionProblems } from "./validate-options.ts";

type SlurmProfile = ProfileOf<"slurm">;

// Slurm may signal that much earlier than asked.
const SIGNAL_JITTER = 60;
// What one node writes to a parallel filesystem that others use, too: half of what an estimate of hours reckons with.
const SAVE_BYTES_PER_SECOND = 1e9;

/** What is wrong with a job for Slurm, without asking the cluster: all problems at once. */
export const validateSlurm = (job: Job, profile: SlurmProfile): readonly LaunchProblem[] => {
  const { nodes, processes } = slurmResources(job, profile);
  return [
    ...validateJob(job, nodes * processes),
    ...farProblems(job, profile),
    ...optionProblems(profile),
    ...shapeProblems(job, profile),
    ...timeProblems(job, profile),
  ];
};

function shapeProblems(job: Job, profile: SlurmProfile): readonly LaunchProblem[] {
  const { nodes, processes } = slurmResources(job, profile);
  const problems: LaunchProblem[] = [];
  if (nodes > 1 && profile.container?.engine === "docker") {
    problems.push({
      code: "NODES_DOCKER",
      message: `${nodes} nodes cannot share a job in docker: its containers do not see each other's ranks`,
      hint: "take engine: apptainer or engine: pyxis, or nodes: 1",
    });
  }
  if (nodes > 1 && profile.cpusPerTask !== undefined && profile.cpusPerTask < processes) {
    problems.push({
      code: "CPUS_TOO_FEW",
      message: `cpusPerTask ${profile.cpusPerTask} is for all ${processes} processes of a node: each of them needs at least one`,
      hint: `set cpusPerTask to ${processes} or more`,
    });
  }
  if (profile.chain > 1 && job.secrets.length > 0) {
    problems.push({
      code: "CHAIN_WITH_SECRETS",
      message: `a chain of ${profile.chain} jobs cannot be given ${job.secrets.join(", ")}: a secret is read once and deleted`,
      hint: "set chain: 1 for this job",
    });
  }
  if (job.runFolder.includes("\\")) {
    problems.push({
      code: "RUN_FOLDER_BACKSLASH",
      message: `${job.runFolder} has a backslash, which Slurm reads as a sign of its own in the name of a log`,
      hint: "choose another folder for paths.runs",
    });
  }
  return problems;
}

function timeProblems(job: Job, profile: SlurmProfile): readonly LaunchProblem[] {
  const { signalSeconds, graceSeconds } = profile;
  const walltime = slurmSeconds(profile.time) ?? 0;
  const problems: LaunchProblem[] = [];
  if (walltime <= signalSeconds + SIGNAL_JITTER) {
    problems.push({
      code: "WALLTIME_TOO_SHORT",
      message:
        `time ${profile.time} is ${walltime} s, and the job is asked to stop ${signalSeconds} s before its end, which Slurm may do ` +
        `${SIGNAL_JITTER} s earlier: it would be stopped as soon as it starts`,
      hint: `give it more than ${signalSeconds + SIGNAL_JITTER} s, or lower signalSeconds`,
    });
  }
  if (signalSeconds < graceSeconds) {
    problems.push({
      code: "SIGNAL_TOO_LATE",
      message: `a stop may take graceSeconds ${graceSeconds}, but Slurm kills the job ${signalSeconds} s after it asks (signalSeconds)`,
      hint: `set signalSeconds to ${graceSeconds} or more`,
    });
  }
  const save = saveTime(job);
  if (save !== undefined && save.seconds > graceSeconds) {
    problems.push({
      code: "GRACE_TOO_SHORT",
      message:
        `a checkpoint has about ${gigabytes(save.bytes)}, which at ${gigabytes(SAVE_BYTES_PER_SECOND)}/s takes ${save.seconds} s to save; ` +
        `the job is killed ${graceSeconds} s after it was asked to stop (graceSeconds)`,
      hint: `set graceSeconds and signalSeconds to ${save.seconds} or more, better twice that`,
    });
  }
  return problems;
}

/** Bytes of one checkpoint, and the whole seconds that saving it takes by arithmetic. */
function saveTime(job: Job): { readonly bytes: number; readonly seconds: number } | undefined {
  const training = trainingOf(job);
  if (training === undefined || !Number.isFinite(job.diskBytes)) return undefined;
  const bytes = job.diskBytes / Math.ceil(training.steps / training.saveEverySteps);
  return { bytes, seconds: Math.ceil(bytes / SAVE_BYTES_PER_SECOND) };
}

/**
 * What the time limit means for this job, where its speed is known: notes beside the checks of a preflight, never a refusal. A
 * job that is cut short is saved and goes on.
 */
export const slurmNotes = (job: Job, profile: SlurmProfile): readonly Check[] => {
  const training = trainingOf(job);
  if (training === undefined || job.secondsPerStep === undefined) return [];
  const walltime = slurmSeconds(profile.time) ?? 0;
  const usable = Math.max(0, walltime - profile.signalSeconds - SIGNAL_JITTER);
  return [
    reach("first evaluation", {
      seconds: training.evalEverySteps * job.secondsPerStep,
      usable,
      what: `${training.evalEverySteps} steps to the first evaluation`,
      limit: `one job of ${profile.time}`,
      hint: "it happens in a later job of the chain: raise time, or lower the steps between evaluations",
    }),
    reach("chain", {
      seconds: training.steps * job.secondsPerStep,
      usable: usable * profile.chain,
      what: `all ${training.steps} steps`,
      limit: `${profile.chain} × ${profile.time}`,
      hint: "the run goes on only while somebody watches it: raise chain or time",
    }),
  ];
};

function reach(
  name: string,
  {
    seconds,
    usable,
    what,
    limit,
    hint,
  }: { seconds: number; usable: number; what: string; limit: string; hint: string },
): Check {
  const fits = seconds <= usable;
  const detail = `${what} take about ${hours(seconds)}; ${limit} leaves ${hours(usable)} before the stop`;
  return fits ? { name, outcome: "ok", detail } : { name, outcome: "unknown", detail, hint };
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

function hours(seconds: number): string {
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
