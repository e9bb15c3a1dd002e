import type { OpenWorld } from "../launchers.ts";
import {
  attemptFiles,
  payloadCommand,
  payloadEnvironment,
  plannedLayout,
  wrapperCommand,
} from "../payload-command.ts";
import type { AttemptContext, Job, JobRef, Plan } from "../schema.ts";
import type { LocalProfile } from "./launcher.ts";

/** Pure: what `submitLocal` writes and starts. */
export const planLocal = (
  job: Job,
  attempt: AttemptContext,
  { profile, world }: { readonly profile: LocalProfile; readonly world: OpenWorld },
): Plan => {
  const layout = plannedLayout(job, attempt);
  const processes = job.kind === "train" ? profile.processes : 1;
  const threads = profile.threads ?? Math.max(1, Math.floor(world.cores / processes));
  const environment = payloadEnvironment(job, threads, world.environment);
  return {
    kind: "local",
    runId: job.runId,
    attempt,
    files: attemptFiles({ job, attempt, layout }, world.wrapper),
    argv: wrapperCommand(
      { job, attempt, layout },
      {
        graceSeconds: profile.graceSeconds,
        python: job.python,
        keep: Object.keys(environment).toSorted().join(" "),
        program: payloadCommand(job, layout.manifest, processes),
      },
    ),
    cwd: layout.folder,
    environment,
    uploads: [],
    prepares: null,
    request: null,
  };
};

/** How a planned attempt is found again. */
export const refOf = (plan: Plan): JobRef => ({
  kind: "local",
  marker: plan.attempt.marker,
  folder: plan.cwd,
});
