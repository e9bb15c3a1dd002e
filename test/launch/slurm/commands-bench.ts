import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import {
  LauncherProfile,
  markerOf,
  openLauncher,
  type AttemptContext,
  type Job,
  type Launcher,
  type Plan,
} from "../../../src/launch/index.ts";
import { temporaryFolder } from "../support.ts";

const PROGRAMS = ["sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo"] as const;

/** A launcher on stand-ins of Slurm's commands that note how they are called: for what needs no cluster. */
export interface CommandsBench {
  readonly launcher: Launcher;
  readonly folder: string;
  job(changes?: Partial<Job>): Job;
  plan(job: Job, changes?: Partial<AttemptContext>): Plan;
  /** Words of each call so far, the program first. */
  calls(program?: (typeof PROGRAMS)[number]): readonly (readonly string[])[];
}

export interface CommandsSettings {
  readonly profile?: Readonly<Record<string, unknown>>;
  /** Program → what it does, in shell; by default nothing but to succeed. */
  readonly programs?: Partial<Record<(typeof PROGRAMS)[number], string>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export const commandsBench = async (settings: CommandsSettings = {}): Promise<CommandsBench> => {
  const folder = temporaryFolder().path;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const program of PROGRAMS) {
    const text = settings.programs?.[program] ?? "";
    const note = `for word in ${program} "$@"; do printf '%s\\0' "$word"; done >>${folder}/calls; echo >>${folder}/calls`;
    writeFileSync(join(bin, program), `#!/bin/sh\n${note}\n${text}\n`, { mode: 0o755 });
  }
  const place = (name: string): string => join(folder, name);
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "slurm",
    time: "1:00:00",
    pollSeconds: 600,
    paths: { data: place("data"), models: place("models"), env: place("env"), runs: place("runs") },
    ...settings.profile,
  });
  const launcher = await openLauncher(profile, {
    clock: settings.clock ?? systemClock,
    environment: { PATH: `${bin}:/usr/bin:/bin`, HOME: folder, ...settings.environment },
    payload: resolve(import.meta.dirname, "../../../launchers/payload"),
    ...(settings.signal === undefined ? {} : { signal: settings.signal }),
  });
  let runs = 0;
  return {
    launcher,
    folder,
    job: (changes = {}) => {
      const runId = `run-${(runs += 1)}`;
      return {
        kind: "train",
        runId,
        runFolder: join(folder, "runs", runId),
        manifest: {
          schemaVersion: 1,
          kind: "train",
          run: runId,
          training: { steps: 2, saveEverySteps: 1, evalEverySteps: 1 },
          model: { path: place("models/tiny"), revision: "me/tiny@0123abcd" },
        },
        python: "/usr/bin/python3",
        payload: place("payload"),
        profile,
        diskBytes: 1,
        secrets: [],
        inputs: [],
        environment: null,
        ...changes,
      };
    },
    plan: (job, changes = {}) =>
      launcher.plan(job, { number: 1, marker: markerOf(job.runId, 1), token: "t", ...changes }),
    calls: (program) => {
      const lines = readCalls(join(folder, "calls")).split("\0\n").slice(0, -1);
      const words = lines.map((line) => line.split("\0"));
      return program === undefined ? words : words.filter(([name]) => name === program);
    },
  };
};

function readCalls(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
