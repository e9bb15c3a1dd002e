import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Clock } from "../../../src/core/clock.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { LauncherProfile, type FarProfile, type Job } from "../../../src/launch/index.ts";
import { localTransport, type Transport } from "../../../src/launch/transport/index.ts";

export { temporaryFolder } from "../support.ts";

/** The payload with its real far scripts. */
export const payload = resolve(import.meta.dirname, "../../../launchers/payload");

/** Waits as told, but never long: what polls a far machine need not be slow in a test. */
export const impatient: Clock = {
  now: () => systemClock.now(),
  sleep: (milliseconds, signal) => systemClock.sleep(Math.min(milliseconds, 100), signal),
};

export const world = { clock: impatient, payload };

export const here = (changes: Readonly<Record<string, string | undefined>> = {}): Transport =>
  localTransport({ clock: systemClock, environment: { ...process.env, ...changes } });

const PATHS = { data: "/far/data", models: "/far/models", env: "/far/env", runs: "/far/runs", tmp: "/tmp" };

export const sshProfile = (changes: Readonly<Record<string, unknown>> = {}): FarProfile =>
  farProfile({ kind: "ssh", hosts: [{ host: "gpu1" }], ...changes });

export const slurmProfile = (changes: Readonly<Record<string, unknown>> = {}): FarProfile =>
  farProfile({ kind: "slurm", time: "12:00:00", ...changes });

const farProfile = (settings: Readonly<Record<string, unknown>>): FarProfile => {
  const profile = LauncherProfile.parse({ schemaVersion: 1, paths: PATHS, ...settings });
  if (profile.kind === "ssh" || profile.kind === "slurm") return profile;
  throw new Error("not a far profile");
};

export const farJob = (changes: Partial<Job> = {}): Job => ({
  kind: "train",
  runId: "run-1",
  runFolder: "/far/runs/run-1",
  manifest: { schemaVersion: 1, kind: "train", run: "run-1" },
  python: "/far/env/abc/bin/python",
  payload: "/far/env/payload",
  profile: sshProfile(),
  diskBytes: 1,
  secrets: [],
  inputs: [],
  environment: null,
  ...changes,
});

/** A program in a folder, e.g. a stand-in on PATH. */
export const program = (path: string, text: string): string => {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
};

export interface Wheel {
  readonly name: string;
  readonly version: string;
  /** Default: any Python on any machine. */
  readonly tags?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Console scripts by name, as `module:function`. */
  readonly scripts?: Readonly<Record<string, string>>;
}

const MAKE = `
import json, sys, zipfile
wheel = json.load(sys.stdin)
name, version, tags = wheel["name"], wheel["version"], wheel.get("tags", "py3-none-any")
info = "%s-%s.dist-info" % (name.replace("-", "_"), version)
files = dict(wheel.get("files", {}))
files[info + "/METADATA"] = "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (name, version)
files[info + "/WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: %s\\n" % tags
scripts = wheel.get("scripts", {})
if scripts:
    files[info + "/entry_points.txt"] = "[console_scripts]\\n" + "".join("%s = %s\\n" % pair for pair in scripts.items())
files[info + "/RECORD"] = "".join("%s,,\\n" % path for path in [*files, info + "/RECORD"])
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for path, text in files.items():
        archive.writestr(path, text)
`;

/** Makes a wheel in a folder and returns its line for a lock file. */
export const makeWheel = (folder: string, wheel: Wheel, python: string): string => {
  mkdirSync(folder, { recursive: true });
  const file = `${wheel.name.replaceAll("-", "_")}-${wheel.version}-${wheel.tags ?? "py3-none-any"}.whl`;
  execFileSync(python, ["-c", MAKE, join(folder, file)], { input: JSON.stringify(wheel) });
  const digest = sha256(readFileSync(join(folder, file)));
  return `${wheel.name}==${wheel.version} \\\n    --hash=sha256:${digest}\n`;
};
