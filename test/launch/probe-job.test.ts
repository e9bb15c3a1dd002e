import { cpSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { LauncherProfile, loadProfile, openLauncher, type Check } from "../../src/launch/index.ts";
import { probeJob } from "../../src/launch/probe-job.ts";
import { temporaryFolder } from "./support.ts";

const root = resolve(import.meta.dirname, "../..");
const payload = join(root, "launchers/payload");
const PATHS = { data: "/far/data", models: "/far/models", env: "/far/env", runs: "/far/runs" };
const AWAY = { sshConfig: "/dev/null", knownHosts: "/dev/null", transport: "ssh2", deadlineSeconds: 1 };

const SSH = { kind: "ssh", paths: PATHS, hosts: [{ host: "127.0.0.1", port: 1 }], ...AWAY };
const SLURM = {
  kind: "slurm",
  paths: PATHS,
  time: "12:00:00",
  login: { host: "127.0.0.1", port: 1 },
  ...AWAY,
};
const SAGEMAKER = {
  kind: "sagemaker",
  region: "us-east-1",
  role: "arn:aws:iam::123456789012:role/training",
  image: `123456789012.dkr.ecr.us-east-1.amazonaws.com/x@sha256:${"a".repeat(64)}`,
  bucket: "us-bucket",
  endpoint: "http://127.0.0.1:1",
};

const launcherOf = async (settings: object) => {
  const profile = LauncherProfile.parse({ schemaVersion: 1, ...settings });
  const environment = {
    PATH: process.env["PATH"],
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "bbbbbbbb",
  };
  return { profile, launcher: await openLauncher(profile, { clock: systemClock, environment, payload }) };
};

const profileChecks = async (settings: object): Promise<readonly Check[]> => {
  const { launcher } = await launcherOf(settings);
  const checks = await launcher.probe();
  await launcher.close();
  return checks.filter(({ name }) => name === "profile");
};

describe("a probe refuses of a profile what every start would", () => {
  it.each([
    ["a grace that the service does not give", SAGEMAKER, { graceSeconds: 300 }, "graceSeconds is 300"],
    ["half of a VPC", SAGEMAKER, { subnets: ["subnet-1"] }, "A VPC needs subnets and securityGroups"],
    ["a machine that is none", SAGEMAKER, { instanceType: "p5" }, '"p5" is no instance type'],
    ["a spot that waits too little", SAGEMAKER, { spot: { maxWaitSeconds: 5 } }, "maxWaitSeconds 5 is below"],
    ["a stop that comes too late", SLURM, { signalSeconds: 100 }, "graceSeconds 120"],
    ["a limit that the stop uses up", SLURM, { time: "5" }, "time 5 is 300 s"],
    ["an option that is ours", SLURM, { extra: ["--mem=1G"] }, "--mem=1G would override"],
    [
      "an image without a digest",
      SSH,
      { container: { engine: "docker", image: "x:latest" } },
      "the image x:latest has no digest",
    ],
    ["a store that is not named", SSH, { stage: { data: "s3" } }, "s3.data is missing"],
  ])("%s", async (_, base, wrong, said) => {
    expect(await profileChecks({ ...base, ...wrong })).toEqual([
      expect.objectContaining({ outcome: "failed", detail: expect.stringContaining(said) }),
    ]);
  });

  it.each([
    SSH,
    SLURM,
    SAGEMAKER,
    { kind: "local" },
    { ...SSH, stage: { model: "node-download" } },
    { ...SSH, stage: { model: "s3" }, s3: { models: "s3://b/m" } },
    { ...SLURM, processes: 3, nodes: 2 },
  ])("and nothing else: $kind", async (settings) => {
    const { launcher, profile } = await launcherOf(settings);
    expect(launcher.validate(probeJob(profile))).toEqual([]);
    await launcher.close();
  });

  it("nor anything of the examples", async () => {
    const project = projectAt(temporaryFolder().path);
    mkdirSync(project.launchers, { recursive: true });
    for (const kind of ["ssh", "slurm", "sagemaker"]) {
      const name = `my-${kind}.example`;
      cpSync(join(root, "launchers", `${name}.yaml`), join(project.launchers, `${name}.yaml`));
      const { launcher, profile } = await launcherOf(await loadProfile(project, name));
      expect(launcher.validate(probeJob(profile))).toEqual([]);
      await launcher.close();
    }
  });
});
