import { describe, expect, it } from "vitest";
import { LauncherProfile } from "../../src/launch/index.ts";
import { GPUS, type Estimate } from "../../src/recipe/index.ts";
import { estimateMachine, type EstimateMachine } from "../../src/workflow/estimate-machine.ts";
import { estimateWarnings } from "../../src/workflow/estimate-warnings.ts";

const paths = { data: "/d", models: "/m", env: "/e", runs: "/r" };
const machineOf = (profile: object): EstimateMachine | null =>
  estimateMachine(LauncherProfile.parse({ schemaVersion: 1, ...profile }));

describe("estimateMachine", () => {
  it.each([
    [
      { kind: "slurm", paths, time: "12:00:00", gres: "gpu:a100:8", chain: 2 },
      { gpu: GPUS.a100, gpus: 8, walltimeSeconds: 43_200, links: 2, assumed: false },
    ],
    [
      { kind: "slurm", paths, time: "1-12", constraint: "h200", nodes: 2 },
      { gpu: GPUS.h200, gpus: 16, walltimeSeconds: 129_600, links: 1, assumed: false },
    ],
    [
      { kind: "slurm", paths, time: "12:00" },
      { gpu: GPUS.h100, gpus: 8, walltimeSeconds: 720, links: 1, assumed: true },
    ],
  ])("reads the GPUs and the limit of %j", (profile, expected) => {
    expect(machineOf(profile)).toEqual({ ...expected, reservedSeconds: 300 });
  });

  it("knows instance types", () => {
    const settings = {
      kind: "sagemaker",
      region: "us-east-1",
      role: "arn:aws:iam::1:role/r",
      image: "i",
      bucket: "bucket",
    };
    expect(machineOf(settings)).toMatchObject({
      gpu: GPUS.h100,
      gpus: 8,
      walltimeSeconds: 172_800,
      assumed: false,
    });
    expect(machineOf({ ...settings, instanceType: "ml.p5en.48xlarge" })?.gpu).toBe(GPUS.h200);
    expect(machineOf({ ...settings, instanceType: "ml.x9.large" })?.assumed).toBe(true);
  });

  it("takes H100 where nobody says, without a limit for a machine of one's own", () => {
    expect(machineOf({ kind: "ssh", paths, hosts: [{ host: "a" }] })).toEqual({
      gpu: GPUS.h100,
      assumed: true,
      gpus: 8,
      walltimeSeconds: null,
      reservedSeconds: 0,
      links: 1,
    });
  });

  it.each([
    { kind: "local" },
    { kind: "local", device: "cpu" },
    { kind: "ssh", paths, hosts: [{ host: "a" }], device: "cpu" },
  ])("has nothing to say of %j", (profile) => {
    expect(machineOf(profile)).toBeNull();
  });
});

const HOUR = 3600;
const span = (best: number, worst = best): { best: number; worst: number } => ({ best, worst });
const estimate = (changes: {
  hours?: [number, number];
  first?: number;
  memory?: Partial<Estimate["memory"]>;
}): Estimate => {
  const [best, worst] = changes.hours ?? [1, 1];
  return {
    tokens: { perDialogue: 1, labelsPerDialogue: 1, from: "reference", perEpoch: 1, total: 1 },
    memory: { state: 20e9, mean: 30e9, longest: 40e9, ...changes.memory },
    seconds: {
      ...span(best * HOUR, worst * HOUR),
      training: span(1),
      evaluations: span(1),
      saves: 1,
      step: span(1),
      firstCheckpoint: span(changes.first ?? 1),
    },
    checkpointBytes: 1,
    diskBytes: 1,
  };
};
const machine: EstimateMachine = {
  gpus: 8,
  gpu: GPUS.h100,
  assumed: false,
  walltimeSeconds: 12 * HOUR,
  reservedSeconds: 0,
  links: 2,
};
const warned = (
  changes: Parameters<typeof estimate>[0],
  on: Partial<EstimateMachine> = {},
): readonly string[] => estimateWarnings(estimate(changes), { ...machine, ...on }, 500);

describe("estimateWarnings", () => {
  it("says nothing where everything fits, or nothing limits", () => {
    expect(warned({ hours: [10, 24] })).toEqual([]);
    expect(warned({ hours: [100, 300], first: 1e6 }, { walltimeSeconds: null })).toEqual([]);
  });

  it("tells that a chain is too short, with its numbers", () => {
    expect(warned({ hours: [30, 90] })).toEqual([
      "chain: 2 is too short: ≥ 30.0 h / 12.0 h usable of each job = at least 3 jobs (up to 8); what is left has to be resumed by a watcher",
    ]);
    expect(warned({ hours: [15, 15] }, { links: 1 })).toEqual([
      "one job is too short: ≥ 15.0 h / 12.0 h usable of each job = at least 2 jobs (up to 2); what is left has to be resumed by a watcher",
    ]);
  });

  it("tells that a chain may be too short", () => {
    expect(warned({ hours: [20, 40] })).toEqual([
      "chain: 2 may be too short: 20.0 h to 40.0 h / 12.0 h usable of each job = 2 to 4 jobs",
    ]);
  });

  it("counts what is reserved for saving", () => {
    expect(warned({ hours: [24, 24] })).toEqual([]);
    expect(warned({ hours: [24, 24] }, { reservedSeconds: 600 })[0]).toContain("≥ 24.0 h / 11.8 h usable");
  });

  it("tells that the first evaluation comes after the limit", () => {
    const [first] = warned({ first: 1800 }, { walltimeSeconds: 720 });
    expect(first).toBe(
      "the first evaluation (step 500) takes at least 30 min, longer than the 12 min of one job: lower evaluation.everySteps, or allow more time",
    );
  });

  it.each([
    [
      { state: 127e9, mean: 130e9, longest: 140e9 },
      "weights, gradients and optimizer alone take 127 GB on each of 8 GPUs",
    ],
    [
      { mean: 90e9, longest: 140e9 },
      "a micro-batch of mean dialogues takes at least 90 GB of the 80 GB of a GPU",
    ],
    [{ longest: 81e9 }, "a micro-batch of the longest dialogues takes at least 81 GB of the 80 GB of a GPU"],
  ])("tells once what does not fit into a GPU: %j", (memory, text) => {
    const warnings = warned({ memory });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(text);
  });
});
