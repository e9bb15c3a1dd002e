import { join } from "node:path";
import { z } from "zod";
import { farProgram, farScript } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import { attemptFiles, plannedLayout, wrapperCommand } from "../payload-command.ts";
import type { AttemptContext, Job, JobInput, Plan } from "../schema.ts";
import { hostName } from "./hosts.ts";
import type { SshProfile } from "./launcher.ts";

export interface PlanPlace {
  readonly profile: SshProfile;
  readonly world: OpenWorld;
  /** Text of host-run.sh. */
  readonly hostRun: string;
}

/** Pure: what `submitSsh` writes on the host it gets, and starts there. Which host that is, is not part of it. */
export const planSsh = (job: Job, attempt: AttemptContext, { profile, world, hostRun }: PlanPlace): Plan => {
  const layout = plannedLayout(job, attempt);
  const processes = processesOf(job, profile);
  const program = farProgram(job, profile, layout, processes);
  const starter = join(layout.folder, "start.sh");
  const runner = join(layout.folder, "host-run.sh");
  const wrapper = wrapperCommand(
    { job, attempt, layout },
    {
      graceSeconds: profile.graceSeconds,
      python: program.python,
      keep: program.keep,
      ...(profile.container?.engine === "docker" ? { containers: "docker" as const } : {}),
      program: program.argv,
    },
  );
  const script = farScript({
    profile,
    environment: program.environment,
    processes,
    program: wrapper,
    ...(job.secrets.length === 0 ? {} : { secrets: join(layout.folder, "secrets") }),
  });
  return {
    kind: "ssh",
    runId: job.runId,
    attempt,
    files: attemptFiles({ job, attempt, layout }, world.wrapper, [
      { path: runner, mode: 0o755, text: hostRun },
      // Its setup lines and its environment may hold a token.
      { path: starter, mode: 0o600, text: script },
    ]),
    argv: [
      "/bin/sh",
      runner,
      layout.folder,
      `${attempt.marker}.${attempt.token}`,
      String(profile.maxHeldMebibytes),
      String(profile.jobsPerHost ?? 0),
      "--",
      "/bin/sh",
      starter,
    ],
    cwd: layout.folder,
    environment: program.environment,
    uploads: job.inputs.filter((input) => isSent(input, profile)),
    prepares: job.environment,
    request: {
      device: profile.device,
      gpus: processes,
      hosts: profile.hosts.map(hostName),
      ...(attempt.excludedNodes === undefined || attempt.excludedNodes.length === 0
        ? {}
        : { excludedNodes: attempt.excludedNodes }),
    },
  };
};

// What the job fetches itself, or has inside its image, cannot be there before it starts.
const isSent = ({ role, source }: JobInput, { stage }: SshProfile): boolean =>
  source !== null || role === "payload" || ["existing", "upload"].includes(stage[role]);

const Wishes = z.looseObject({
  gpus: z.int().positive(),
  excludedNodes: z.array(z.string()).default([]),
});

/** How many GPUs a planned attempt locks, where its host has any. */
export const gpusOf = (plan: Plan): number => Wishes.parse(plan.request).gpus;

/** Machines on which an earlier attempt of the run failed because of the machine: the last to be tried. */
export const excludedOf = (plan: Plan): readonly string[] => Wishes.parse(plan.request).excludedNodes;

/** Training takes all of them; the other kinds run one process. */
export const processesOf = (job: Pick<Job, "kind">, profile: SshProfile): number =>
  job.kind === "train" ? profile.processes : 1;
