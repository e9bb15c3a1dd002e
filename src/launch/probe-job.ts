import type { LauncherProfile } from "./profile.ts";
import type { Check, Job, LaunchProblem } from "./schema.ts";

/**
 * A training job about which nothing can be wrong, so that what is wrong with it is wrong with its profile: `doctor` refuses by it
 * what every start would refuse. Never planned, sent or run.
 */
export const probeJob = (profile: LauncherProfile): Job => ({
  kind: "train",
  runId: "probe",
  runFolder: "/probe/runs/probe",
  manifest: {
    schemaVersion: 1,
    kind: "train",
    run: "probe",
    // Of the hub: whether a profile may fetch from there is nothing that a model made here could tell.
    model: { path: "/probe/models/probe", revision: "probe/probe@0000000" },
  },
  python: "/probe/python",
  payload: "/probe/payload",
  profile,
  diskBytes: 0,
  secrets: [],
  inputs: [
    { role: "payload", path: "/probe/payload/wrapper.sh", source: null, bytes: 0, sha256: "0".repeat(64) },
  ],
  environment: null,
});

/** Problems of a profile as checks. */
export const profileChecks = (problems: readonly LaunchProblem[]): readonly Check[] =>
  problems.map(({ message, hint }) => ({
    name: "profile",
    outcome: "failed",
    detail: message,
    ...(hint === undefined ? {} : { hint }),
  }));
