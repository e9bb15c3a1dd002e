import { systemClock } from "../../../src/core/clock.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import { LauncherProfile, markerOf, type AttemptContext, type Job } from "../../../src/launch/index.ts";
import type { OpenWorld } from "../../../src/launch/launchers.ts";
import type { ProfileOf } from "../../../src/launch/profile.ts";

const RUN = "20260131-101500-agent-ab12";

/** Scripts are stand-ins: a golden file must not change with them. */
export const WORLD: OpenWorld = {
  clock: systemClock,
  environment: { PATH: "/users/me/bin", HF_TOKEN: "hf_verysecret", SLURM_CPU_BIND: "stray" },
  payload: "/here/payload",
  wrapper: "#!/bin/sh\n# wrapper\n",
  link: "#!/bin/sh\n# link\n",
  secrets: secretsFrom({ HF_TOKEN: "hf_verysecret" }),
  cores: 2,
};

export const slurmProfile = (settings: object = {}): ProfileOf<"slurm"> => {
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "slurm",
    time: "12:00:00",
    paths: {
      data: "/lustre/understudy/data",
      models: "/lustre/understudy/models",
      env: "/lustre/understudy/env",
      runs: "/lustre/understudy/runs",
    },
    ...settings,
  });
  if (profile.kind !== "slurm") throw new Error("not a profile of Slurm");
  return profile;
};

/** A training job of 1,200 steps, saved every 500, on the profile. */
export const slurmJob = (profile: ProfileOf<"slurm">, changes: Partial<Job> = {}): Job => ({
  kind: "train",
  runId: RUN,
  runFolder: `/lustre/understudy/runs/${RUN}`,
  manifest: {
    schemaVersion: 1,
    kind: "train",
    run: RUN,
    device: "auto",
    model: { path: "/lustre/understudy/models/Qwen2.5-Omni-7B@ae9e1690", revision: "ae9e1690" },
    prompt: { preamble: 'You are @TOKEN@ and @ATTEMPT@ATTEMPT@ of "me".' },
    data: { train: ["/lustre/understudy/data/ab/shard.parquet"], dev: [] },
    training: { steps: 1200, saveEverySteps: 500, evalEverySteps: 500, globalBatch: 32, microBatch: 1 },
  },
  python: "/lustre/understudy/env/1f2e/bin/python",
  payload: "/lustre/understudy/data/payload-77aa",
  profile,
  diskBytes: 6e9,
  secrets: [],
  inputs: [
    {
      role: "data",
      path: "/lustre/understudy/data/ab/shard.parquet",
      source: "/here/datasets/shard.parquet",
      bytes: 123456,
      sha256: "ab".repeat(32),
    },
  ],
  environment: {
    folder: "/lustre/understudy/env/1f2e",
    python: "python3",
    locks: ["/lustre/understudy/data/payload-77aa/requirements-cuda.lock"],
    wheelhouse: null,
    device: "cuda",
  },
  ...changes,
});

export const slurmAttempt = (number = 1, changes: Partial<AttemptContext> = {}): AttemptContext => ({
  number,
  marker: markerOf(RUN, number),
  token: `tok${number}`,
  ...changes,
});
