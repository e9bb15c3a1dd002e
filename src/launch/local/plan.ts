import { InternalError } from "../../core/errors.ts";
import { attemptLayout } from "../attempt-layout.ts";
import type { OpenWorld } from "../launchers.ts";
import { isMarker } from "../marker.ts";
import { manifestText, payloadCommand, payloadEnvironment, wrapperCommand } from "../payload-command.ts";
import type { AttemptContext, Job, JobRef, Plan } from "../schema.ts";
import type { LocalProfile } from "./launcher.ts";

/** Pure: what `submitLocal` writes and starts. */
export const planLocal = (
  job: Job,
  attempt: AttemptContext,
  { profile, world }: { readonly profile: LocalProfile; readonly world: OpenWorld },
): Plan => {
  if (!isMarker(attempt.marker)) {
    throw new InternalError("MARKER_INVALID", `"${attempt.marker}" cannot name a job on every launcher`);
  }
  const layout = attemptLayout(job.runFolder, attempt.number);
  const processes = job.kind === "train" ? profile.processes : 1;
  const threads = profile.threads ?? Math.max(1, Math.floor(world.cores / processes));
  const environment = payloadEnvironment(job, threads, world.environment);
  return {
    kind: "local",
    runId: job.runId,
    attempt,
    files: [
      { path: layout.manifest, mode: 0o644, text: manifestText(job, attempt, layout) },
      { path: layout.wrapper, mode: 0o755, text: world.wrapper },
      { path: layout.fence, mode: 0o644, text: `${attempt.token}\n` },
    ],
    argv: wrapperCommand({
      job,
      attempt,
      layout,
      graceSeconds: profile.graceSeconds,
      environment,
      program: payloadCommand(job, layout.manifest, processes),
    }),
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
