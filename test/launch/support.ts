import { mkdtempSync, readFileSync, symlinkSync, mkdirSync, cpSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { systemCode } from "../../src/core/errors.ts";
import {
  findPython,
  layoutAt,
  LauncherProfile,
  markerOf,
  openLauncher,
  type AttemptContext,
  type AttemptLayout,
  type Job,
  type JobRef,
  type Launcher,
} from "../../src/launch/index.ts";
import { readVanishing, type ProcessIdentity } from "../../src/core/process-identity.ts";
import { markedProcesses, Supervisor } from "../../src/launch/supervisor.ts";
import { removeFolder } from "../support/remove-folder.ts";

const root = resolve(import.meta.dirname, "../..");

/** One step of the stand-in payload: a word and its arguments. */
export type Step = readonly [string, ...unknown[]];

export const wrapperPath = join(root, "launchers/payload/wrapper.sh");

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) removeFolder(folder);
});

/** A folder that goes away with the tests of this file, or before. */
export const temporaryFolder = (): { readonly path: string; remove(): void } => {
  const path = mkdtempSync(join(tmpdir(), "understudy-launch-"));
  folders.push(path);
  return { path, remove: () => removeFolder(path) };
};

/** The stand-in payload beside the real wrapper.sh. */
export const standIn = (folder: string): string => {
  const payload = join(folder, "payload");
  mkdirSync(payload, { recursive: true });
  cpSync(join(import.meta.dirname, "stand-in/understudy_payload"), join(payload, "understudy_payload"), {
    recursive: true,
  });
  symlinkSync(wrapperPath, join(payload, "wrapper.sh"));
  return payload;
};

export const python = await findPython(process.env);

export interface Bench {
  readonly launcher: Launcher;
  readonly profile: LauncherProfile;
  readonly payload: string;
  readonly folder: string;
  readonly job: (script: readonly Step[], changes?: Partial<Job>) => Job;
}

let runs = 0;

/** A local launcher on a temporary folder with jobs that follow a script. */
export const bench = async (
  folder: string,
  settings: Partial<LauncherProfile> = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Bench> => {
  const payload = standIn(folder);
  const profile = LauncherProfile.parse({ schemaVersion: 1, kind: "local", ...settings });
  const launcher = await openLauncher(profile, { clock: systemClock, environment, payload });
  return {
    launcher,
    profile,
    payload,
    folder,
    job: (script, changes = {}) => {
      const runId = `run-${process.pid}-${(runs += 1)}`;
      return {
        kind: "score",
        runId,
        runFolder: join(folder, "runs", runId),
        manifest: { schemaVersion: 1, kind: changes.kind ?? "score", run: runId, script },
        python: python.path,
        payload,
        profile,
        diskBytes: 1,
        secrets: [],
        inputs: [],
        environment: null,
        ...changes,
      };
    },
  };
};

export const attemptOf = (job: Job, number = 1): AttemptContext => ({
  number,
  marker: markerOf(job.runId, number),
  token: `token-${number}`,
});

/** Asks again until the answer is not undefined; gives up after a time that no healthy machine needs. */
export const until = async <Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> => {
  for (let tries = 0; tries < 1000; tries++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await systemClock.sleep(20);
  }
  throw new Error("it never happened");
};

/** Reads a file of an attempt once it is there. */
export const fileOf = async (ref: JobRef, part: keyof AttemptLayout): Promise<string> =>
  until(async () => {
    try {
      return readFileSync(layoutAt(ref.folder)[part], "utf8");
    } catch {
      return undefined;
    }
  });

/** Waits until the log holds a text. */
export const logHolds = async (ref: JobRef, text: string): Promise<void> => {
  await until(async () => ((await fileOf(ref, "log")).includes(text) ? true : undefined));
};

/** Processes of a job that run now, its wrapper left out. */
export const processesOf = async (ref: JobRef): Promise<readonly ProcessIdentity[]> =>
  markedProcesses(Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor"))));

/** Kills whatever a test has left running, whatever its token. */
export const sweep = async (marker: string): Promise<void> => {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const environ = (await readVanishing(`/proc/${pid}/environ`))?.toString("latin1") ?? "";
    if (environ.includes(`UNDERSTUDY_JOB=${marker}.`)) endIfThere(Number(pid));
  }
};

/** Kills a process that may have ended by itself between the look and now. */
export const endIfThere = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
};
