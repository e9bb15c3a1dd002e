import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import { LauncherProfile, markerOf, planText, type Job } from "../../../src/launch/index.ts";
import { planLocal } from "../../../src/launch/local/plan.ts";

const RUN = "20260131-101500-agent-ab12";

const text = (settings: Record<string, unknown>, changes: Partial<Job> = {}, number = 1): string => {
  const profile = LauncherProfile.parse({ schemaVersion: 1, kind: "local", ...settings });
  if (profile.kind !== "local") throw new Error("not a local profile");
  const environment = { PATH: "/usr/bin:/bin", HOME: "/home/me", HF_TOKEN: "hf_verysecret", STRAY: "stray" };
  const world = {
    clock: systemClock,
    environment,
    payload: "/here/payload",
    // A stand-in: a golden file must not change with it.
    wrapper: "#!/bin/sh\n# wrapper\n",
    secrets: secretsFrom(environment),
    cores: 16,
  };
  const job: Job = {
    kind: "train",
    runId: RUN,
    runFolder: `/state/runs/${RUN}`,
    manifest: {
      schemaVersion: 1,
      kind: "train",
      run: RUN,
      prompt: { preamble: 'You are "me", and it\'s $HOME.' },
      training: { steps: 20, saveEverySteps: 10, globalBatch: 8, microBatch: 2 },
    },
    python: "/state/environments/1f2e/bin/python",
    payload: "/here/payload",
    profile,
    diskBytes: 6e9,
    secrets: [],
    inputs: [],
    environment: null,
    ...changes,
  };
  return planText(
    planLocal(job, { number, marker: markerOf(RUN, number), token: `tok${number}` }, { profile, world }),
  );
};

describe("what --dry-run prints of a job on this machine, byte for byte", () => {
  it.each([
    ["one process", "train", text({ device: "cpu" })],
    ["four processes, the second attempt", "processes", text({ processes: 4 }, {}, 2)],
    ["answers of an agent, with a secret", "infer", text({}, { kind: "infer", secrets: ["HF_TOKEN"] })],
  ])("%s", async (_, name, printed) => {
    expect(printed).not.toMatch(/hf_verysecret|stray/);
    await expect(printed).toMatchFileSnapshot(join(import.meta.dirname, "golden", `${name}.txt`));
  });
});
