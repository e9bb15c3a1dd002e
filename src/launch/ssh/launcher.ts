import { farProblems } from "../far/index.ts";
import { layoutAt } from "../attempt-layout.ts";
import type { Launcher } from "../launcher.ts";
import type { OpenWorld } from "../launchers.ts";
import type { ProfileOf } from "../profile.ts";
import { impatiently } from "../transport/index.ts";
import { validateJob } from "../validate-job.ts";
import { readHostScripts } from "./ask-host.ts";
import { cancelSsh } from "./cancel.ts";
import { findSsh } from "./find.ts";
import { hostsOf, type Open } from "./hosts.ts";
import { observeSsh } from "./observe.ts";
import { gpusOf, planSsh } from "./plan.ts";
import { preflightSsh, probeSsh } from "./preflight.ts";
import { lazyArtifacts, readLogs, sshRef, transportOf } from "./reading.ts";
import { submitSsh } from "./submit.ts";

export type SshProfile = ProfileOf<"ssh">;

/** Runs each job on one host of the profile's list, detached: it survives the connection, the logout and the controller. */
export const sshLauncher = async (profile: SshProfile, world: OpenWorld, open?: Open): Promise<Launcher> => {
  const scripts = await readHostScripts(world.payload);
  const hosts = hostsOf(profile, world, open);
  const far = { hosts, scripts, profile, world };
  return {
    kind: "ssh",
    validate: (job) => [...validateJob(job, profile.processes), ...farProblems(job, profile)],
    plan: (job, attempt) => planSsh(job, attempt, { profile, world, hostRun: scripts.run }),
    probe: async () => {
      const asked = hostsOf(impatiently(profile), world, open);
      try {
        return await probeSsh({ ...far, hosts: asked });
      } finally {
        await asked.close();
      }
    },
    preflight: async (job) => preflightSsh(job, far),
    submit: async (plan) => submitSsh(plan, { ...far, gpus: gpusOf(plan) }),
    find: async (plan) => findSsh(plan, far),
    observe: async (refs) =>
      observeSsh(
        refs.filter((ref) => ref.kind === "ssh"),
        far,
      ),
    logs: (ref, cursor, options) => readLogs(sshRef(ref), cursor, options, { hosts, clock: world.clock }),
    artifacts: (ref) => lazyArtifacts(async () => transportOf(hosts, sshRef(ref)), layoutAt(ref.folder).run),
    cancel: async (ref, mode) => cancelSsh(sshRef(ref), mode, far),
    close: async () => hosts.close(),
  };
};
