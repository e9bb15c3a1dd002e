import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Job } from "../../src/launch/index.ts";
import { jobSummary } from "../../src/workflow/job-summary.ts";
import { launchWorld, payloadHere } from "../../src/workflow/launch-world.ts";
import { launcherPool } from "../../src/workflow/launchers-pool.ts";
import type { Progress } from "../../src/workflow/index.ts";
import { place, requestFor, SAGEMAKER, SLURM, SSH } from "./place-support.ts";

const jobOn = (settings: object): Job => {
  const { model: _model, train: _train, dev: _dev, device: _device, ...places } = place(settings);
  return {
    kind: "train",
    runId: "run-1",
    manifest: {},
    profile: requestFor(settings).profile,
    diskBytes: 1,
    ...places,
  };
};

describe("payloadHere", () => {
  it.each([
    ["this machine", { kind: "local" }],
    ["a machine with folders of its own", SSH],
    ["SageMaker", SAGEMAKER],
  ])("is this machine's copy for a job of %s", (_, settings) => {
    expect(payloadHere(jobOn(settings))).toBe("/state/payloads/dddd");
  });
});

describe("launchWorld", () => {
  it("hands on what a launcher says while it sends", () => {
    const said: Progress[] = [];
    const onProgress = (progress: Progress): void => void said.push(progress);
    const world = launchWorld({ clock: systemClock, environment: {}, onProgress }, jobOn(SSH));
    expect(world.signal).toBeUndefined();
    world.onProgress?.({ kind: "upload", text: "sending shards", done: 1_500_000, total: 3e6 });
    world.onProgress?.({ kind: "environment", text: "Collecting torch" });
    world.onProgress?.({ kind: "environment", text: "installed", done: 3, total: 9 });
    world.onProgress?.({ kind: "note", text: "12 files are there already" });
    expect(said).toEqual([
      { type: "detail", text: "sending shards: 1.5 of 3.0 MB" },
      { type: "detail", text: "Collecting torch" },
      { type: "detail", text: "installed: 3 of 9" },
      { type: "note", text: "12 files are there already" },
    ]);
  });
});

describe("the signal of a shop", () => {
  it("reaches the launcher that is opened for a job", async () => {
    const { signal } = new AbortController();
    const seen: unknown[] = [];
    const pool = launcherPool(
      { clock: systemClock, environment: {}, onProgress: () => undefined, signal },
      async (_, world) => {
        seen.push(world.signal);
        throw new Error("not opened");
      },
    );
    await expect(pool.of(jobOn(SSH))).rejects.toThrow("not opened");
    expect(seen).toEqual([signal]);
  });
});

describe("jobSummary", () => {
  it.each([
    [{ kind: "local" }, "1 process on this machine", "/state/runs/run-1"],
    [SSH, "8 processes on gpu1", "/far/runs/run-1"],
    [
      { ...SSH, hosts: [{ host: "a" }, { host: "b" }], processes: 4 },
      "4 processes on the first free of a, b",
      "/far/runs/run-1",
    ],
    [SLURM, "Slurm of this machine, one job of 12:00:00, 8 processes on one node", "/far/runs/run-1"],
    [
      { ...SLURM, login: { host: "login1" }, chain: 3, nodes: 2 },
      "Slurm through login1, a chain of 3 jobs of 12:00:00, 8 processes on each of 2 nodes",
      "/far/runs/run-1",
    ],
    [
      { ...SAGEMAKER, spot: { maxWaitSeconds: 200_000 }, prefix: "" },
      "SageMaker in us-east-1, 1 × ml.p5.48xlarge (spot), 8 processes on each",
      "s3://my-bucket/runs/run-1",
    ],
  ])("of %j says where it runs and where its results will be", (settings, where, results) => {
    expect(jobSummary(jobOn(settings))).toMatchObject({ where, results });
  });

  it("counts what is sent and what has to be there", () => {
    const summary = jobSummary(jobOn({ ...SSH, stage: { model: "existing" } }));
    expect(summary.sends).toEqual([
      { role: "payload", files: 2, bytes: 20 },
      { role: "data", files: 3, bytes: 30 },
    ]);
    expect(summary.expects).toEqual([{ role: "model", files: 2, bytes: 5_000_000_010 }]);
    expect(summary.environment).toMatch(/^\/far\/env\//);
    expect(jobSummary(jobOn({ kind: "local" }))).toMatchObject({ sends: [], expects: [], environment: null });
  });
});
