import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import { LauncherProfile, type Job, type Launcher, type ProfileOf } from "../../../src/launch/index.ts";
import type { OpenWorld } from "../../../src/launch/launchers.ts";
import { sshLauncher } from "../../../src/launch/ssh/launcher.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import { python, standIn, wrapperPath, type Step } from "../support.ts";

/** A machine in the profile's list: this one, with locks, boot and programs of its own. */
export interface Machine {
  readonly name: string;
  readonly locks: string;
  readonly bootIdFile: string;
  /** What a far shell gets besides PATH and HOME. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A machine with an own lock folder and boot id, and an nvidia-smi that prints what lies in `gpus` beside it. */
export const machine = (folder: string, name: string, gpus?: readonly string[]): Machine => {
  const place = join(folder, `machine-${name}`);
  const bin = join(place, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(place, "boot_id"), readFileSync("/proc/sys/kernel/random/boot_id"));
  if (gpus) {
    writeFileSync(join(place, "gpus"), gpus.map((line) => `${line}\n`).join(""));
    writeFileSync(join(bin, "nvidia-smi"), `#!/bin/sh\ncat '${join(place, "gpus")}'\n`, { mode: 0o755 });
  }
  const bootIdFile = join(place, "boot_id");
  return {
    name,
    locks: join(place, "locks"),
    bootIdFile,
    environment: {
      UNDERSTUDY_LOCKS: join(place, "locks"),
      UNDERSTUDY_BOOT_ID_FILE: bootIdFile,
      ...(gpus === undefined ? {} : { PATH: `${bin}:${process.env["PATH"] ?? ""}` }),
    },
  };
};

export const setGpus = (folder: string, name: string, gpus: readonly string[]): void =>
  writeFileSync(join(folder, `machine-${name}`, "gpus"), gpus.map((line) => `${line}\n`).join(""));

export interface SshBench {
  readonly launcher: Launcher;
  readonly profile: ProfileOf<"ssh">;
  readonly payload: string;
  readonly world: OpenWorld;
  readonly job: (script: readonly Step[], changes?: Partial<Job>) => Job;
}

/** The stand-in payload with the far programs beside it. */
export const farPayload = (folder: string): string => {
  const payload = standIn(folder);
  if (!existsSync(join(payload, "far"))) symlinkSync(join(dirname(wrapperPath), "far"), join(payload, "far"));
  return payload;
};

export const worldOf = (
  payload: string,
  environment: Readonly<Record<string, string | undefined>>,
): OpenWorld => ({
  clock: systemClock,
  environment,
  payload,
  secrets: secretsFrom(environment),
  wrapper: readFileSync(wrapperPath, "utf8"),
  cores: 2,
});

// Another user than the one who tests runs the jobs: an interpreter below somebody's home will not do.
const farPython = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : python.path;

let runs = 0;

/** Jobs for far folders below `folder`. */
export const jobMaker =
  (folder: string, payload: string, profile: ProfileOf<"ssh">) =>
  (script: readonly Step[], changes: Partial<Job> = {}): Job => {
    const runId = `far-${process.pid}-${(runs += 1)}`;
    return {
      kind: "score",
      runId,
      runFolder: join(folder, "runs", runId),
      manifest: { schemaVersion: 1, kind: changes.kind ?? "score", run: runId, script },
      python: farPython,
      payload,
      profile,
      diskBytes: 1,
      secrets: [],
      inputs: [],
      environment: null,
      ...changes,
    };
  };

export const profileOf = (folder: string, settings: Record<string, unknown>): ProfileOf<"ssh"> => {
  const paths = Object.fromEntries(
    ["data", "models", "env", "runs", "tmp"].map((name) => [name, join(folder, name)]),
  );
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "ssh",
    device: "cpu",
    threads: 1,
    processes: 1,
    paths,
    ...settings,
  });
  if (profile.kind !== "ssh") throw new Error("not a profile of SSH");
  return profile;
};

/** An SSH launcher whose hosts are reached without SSH: for what has nothing to do with connections. */
export const localBench = async (
  folder: string,
  {
    machines,
    settings = {},
    environment = process.env,
  }: {
    readonly machines: readonly Machine[];
    readonly settings?: Record<string, unknown>;
    readonly environment?: Readonly<Record<string, string | undefined>>;
  },
): Promise<SshBench> => {
  const payload = farPayload(folder);
  const profile = profileOf(folder, { hosts: machines.map(({ name }) => ({ host: name })), ...settings });
  const world = worldOf(payload, environment);
  const { PATH, HOME } = process.env;
  const launcher = await sshLauncher(profile, world, async ({ host }) => {
    const found = machines.find(({ name }) => name === host);
    if (found === undefined) throw new Error(`no machine ${host}`);
    return localTransport({ clock: systemClock, environment: { PATH, HOME, ...found.environment } });
  });
  return { launcher, profile, payload, world, job: jobMaker(folder, payload, profile) };
};
