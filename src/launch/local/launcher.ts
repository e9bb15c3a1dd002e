import { messageOf } from "../../core/errors.ts";
import { layoutAt } from "../attempt-layout.ts";
import type { OpenWorld } from "../launchers.ts";
import type { Launcher } from "../launcher.ts";
import { jobKey, type JobKey, type Observation } from "../schema.ts";
import type { ProfileOf } from "../profile.ts";
import { validateJob } from "../validate-job.ts";
import { localArtifacts } from "./artifacts.ts";
import { cancelLocal } from "./cancel.ts";
import { readLog } from "./logs.ts";
import { claimTime, observeLocal } from "./observe.ts";
import { planLocal, refOf } from "./plan.ts";
import { preflightLocal, probeLocal } from "./preflight.ts";
import { submitLocal } from "./submit.ts";

export type LocalProfile = ProfileOf<"local">;

/** Runs jobs on this machine, in sessions of their own: they outlive this program. */
export const localLauncher = (profile: LocalProfile, world: OpenWorld): Launcher => ({
  kind: "local",
  validate: (job) => validateJob(job, profile.processes),
  plan: (job, attempt) => planLocal(job, attempt, { profile, world }),
  probe: async () => probeLocal(profile, world),
  preflight: async (job) => preflightLocal(job, profile, world),
  submit: async (plan) => submitLocal(plan, world),
  find: async (plan) => {
    const ref = refOf(plan);
    try {
      const claimed = await claimTime(layoutAt(ref.folder), ref.marker);
      return claimed === undefined ? { outcome: "none" } : { outcome: "found", refs: [ref] };
    } catch (error) {
      return { outcome: "unavailable", reason: messageOf(error) };
    }
  },
  observe: async (refs) => {
    const seen = new Map<JobKey, Observation>();
    for (const ref of refs.filter(({ kind }) => kind === "local"))
      seen.set(jobKey(ref), await observeLocal(ref, world.clock));
    return seen;
  },
  logs: (ref, cursor, options) => readLog(layoutAt(ref.folder).log, cursor, options, world.clock),
  artifacts: (ref) => localArtifacts(layoutAt(ref.folder).run),
  cancel: async (ref, mode) => cancelLocal(ref, mode, world.clock),
  close: async () => {},
});
