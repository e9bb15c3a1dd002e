import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import { markerOf, planText, type Job } from "../../../src/launch/index.ts";
import type { OpenWorld } from "../../../src/launch/launchers.ts";
import { planSsh } from "../../../src/launch/ssh/plan.ts";
import { profileOf } from "./support.ts";

const RUN = "20260131-101500-agent-ab12";

/** Scripts are stand-ins: a golden file must not change with them. */
const WORLD: OpenWorld = {
  clock: systemClock,
  environment: { PATH: "/users/me/bin", HF_TOKEN: "hf_verysecret", STRAY: "stray" },
  payload: "/here/payload",
  wrapper: "#!/bin/sh\n# wrapper\n",
  secrets: secretsFrom({ HF_TOKEN: "hf_verysecret" }),
  cores: 2,
};

const text = (settings: Record<string, unknown>, changes: Partial<Job> = {}, number = 1): string => {
  const profile = profileOf("/scratch/us", {
    hosts: [{ host: "gpu1" }, { host: "gpu2", user: "trainer", port: 2222 }],
    device: "cuda",
    processes: 8,
    ...settings,
  });
  const job: Job = {
    kind: "train",
    runId: RUN,
    runFolder: `/scratch/us/runs/${RUN}`,
    manifest: {
      schemaVersion: 1,
      kind: "train",
      run: RUN,
      model: {
        path: "/scratch/us/models/Qwen2.5-Omni-7B@ae9e1690",
        revision: "Qwen/Qwen2.5-Omni-7B@ae9e1690",
      },
      prompt: { preamble: 'You are "me", and it\'s $HOME.' },
      data: { train: ["/scratch/us/data/ab/shard.parquet"], dev: [] },
      training: { steps: 1200, saveEverySteps: 500, globalBatch: 32, microBatch: 1 },
    },
    python: "/scratch/us/env/1f2e/bin/python",
    payload: "/scratch/us/data/payload-77aa",
    profile,
    diskBytes: 6e9,
    secrets: [],
    inputs: [
      {
        role: "data",
        path: "/scratch/us/data/ab/shard.parquet",
        source: "/here/datasets/shard.parquet",
        bytes: 123456,
        sha256: "ab".repeat(32),
      },
    ],
    environment: {
      folder: "/scratch/us/env/1f2e",
      python: "python3",
      locks: ["/scratch/us/data/payload-77aa/requirements.lock"],
      wheelhouse: null,
      device: "cuda",
    },
    ...changes,
  };
  const attempt = {
    number,
    marker: markerOf(RUN, number),
    token: `tok${number}`,
    ...(number > 1 ? { excludedNodes: ["gpu1"] } : {}),
  };
  return planText(planSsh(job, attempt, { profile, world: WORLD, hostRun: "#!/bin/sh\n# host-run\n" }));
};

const APPTAINER = { engine: "apptainer", image: "/scratch/us/images/understudy.sif" };

describe("what --dry-run prints of a job over SSH, byte for byte", () => {
  it.each([
    ["eight GPUs of one host", "train", text({})],
    ["the second attempt, which keeps away from a host", "resumed", text({}, {}, 2)],
    [
      "answers of an agent, with a secret and lines of setup",
      "infer",
      text(
        { setup: ["module load cuda/12.8", "export NCCL_DEBUG=WARN"], umask: "0002" },
        { kind: "infer", secrets: ["HF_TOKEN"] },
      ),
    ],
    ["a container", "apptainer", text({ container: APPTAINER }, { environment: null })],
    ["a job without GPUs", "cpu", text({ device: "cpu", processes: 2, jobsPerHost: 1 })],
  ])("%s", async (_, name, printed) => {
    expect(printed).not.toMatch(/hf_verysecret|stray|\/home\/me/);
    await expect(printed).toMatchFileSnapshot(join(import.meta.dirname, "golden", `${name}.txt`));
  });
});
