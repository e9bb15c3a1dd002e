import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import {
  jobKey,
  LauncherProfile,
  markerOf,
  openLauncher,
  type AttemptContext,
  type Job,
  type JobRef,
  type Launcher,
  type Observation,
  type Plan,
} from "../../../src/launch/index.ts";
import type { Step } from "../../contract/launcher.ts";
import { LAB_USER, type SlurmLab } from "../../real/slurm/lab.ts";

const root = resolve(import.meta.dirname, "../../..");

/** A Slurm launcher on a lab, and jobs of the stand-in payload for it. */
export interface SlurmBench {
  readonly launcher: Launcher;
  readonly profile: LauncherProfile;
  readonly payload: string;
  readonly lab: SlurmLab;
  readonly environment: Readonly<Record<string, string>>;
  job(script: readonly Step[], changes?: Partial<Job>): Job;
  plan(job: Job, number?: number): Plan;
  /** Submits and expects to be accepted. */
  submit(job: Job, number?: number): Promise<SlurmRef>;
  observe(ref: JobRef): Promise<Observation>;
  /** Asks until the observation is such. */
  seen(ref: JobRef, isIt: (seen: Observation) => boolean): Promise<Observation>;
  /** Waits until its program runs. */
  running(ref: JobRef): Promise<Observation>;
  ended(ref: JobRef): Promise<Extract<Observation, { phase: "ended" }>>;
  /** Makes an empty file in the run's folder. */
  touch(job: Job, name: string): void;
}
export type SlurmRef = Extract<JobRef, { kind: "slurm" }>;

export interface BenchSettings {
  /** Through sshd as an ordinary user, or with this machine's commands as root. */
  readonly login?: boolean;
  readonly profile?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
}

let runs = 0;

export const attemptOf = (job: Job, number = 1): AttemptContext => ({
  number,
  marker: markerOf(job.runId, number),
  token: `token-${number}`,
});

/** Opens the launcher; its runs lie in the lab user's folder. */
export const slurmBench = async (lab: SlurmLab, settings: BenchSettings = {}): Promise<SlurmBench> => {
  const payload = payloadOf(lab);
  const profile = LauncherProfile.parse(profileOf(lab, settings));
  const environment = { ...lab.environment, HOME: lab.folder, ...settings.environment };
  const launcher = await openLauncher(profile, { clock: systemClock, environment, payload });
  const plan = (job: Job, number = 1): Plan => launcher.plan(job, attemptOf(job, number));
  const observe = async (ref: JobRef): Promise<Observation> => {
    const seen = (await launcher.observe([ref])).get(jobKey(ref));
    if (seen === undefined) throw new Error("a job that was asked for is not in the answer");
    return seen;
  };
  const seen = async (ref: JobRef, isIt: (seen: Observation) => boolean): Promise<Observation> => {
    let last: Observation | undefined;
    for (let tries = 0; tries < 900; tries++) {
      last = await observe(ref);
      if (isIt(last)) return last;
      await systemClock.sleep(100);
    }
    throw new Error(`it never happened; last seen: ${JSON.stringify(last)}`);
  };
  return {
    launcher,
    profile,
    payload,
    lab,
    environment,
    job: (script, changes = {}) => {
      const runId = `run-${process.pid}-${(runs += 1)}`;
      return {
        kind: "score",
        runId,
        runFolder: join(lab.home, "runs", runId),
        manifest: { schemaVersion: 1, kind: changes.kind ?? "score", run: runId, script },
        // The one that every user may run.
        python: "/usr/bin/python3",
        payload,
        profile,
        diskBytes: 1,
        secrets: [],
        inputs: [],
        environment: null,
        ...changes,
      };
    },
    plan,
    submit: async (job, number = 1) => {
      const answer = await launcher.submit(plan(job, number));
      const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
      if (ref?.kind !== "slurm") throw new Error(`not accepted: ${JSON.stringify(answer)}`);
      return ref;
    },
    observe,
    seen,
    running: async (ref) => seen(ref, (last) => last.phase === "live" && last.state === "running"),
    ended: async (ref) => {
      const last = await seen(ref, ({ phase }) => phase === "ended");
      if (last.phase !== "ended") throw new Error("not ended");
      return last;
    },
    touch: ({ runFolder }, name) => writeFileSync(join(runFolder, name), ""),
  };
};

/** The profile of a bench, before defaults. */
export const profileOf = (lab: SlurmLab, { login = false, profile = {} }: BenchSettings): unknown => ({
  schemaVersion: 1,
  kind: "slurm",
  device: "cpu",
  processes: 1,
  time: "10",
  signalSeconds: 60,
  graceSeconds: 20,
  pollSeconds: 1,
  deadlineSeconds: 20,
  paths: {
    data: join(lab.home, "data"),
    models: join(lab.home, "models"),
    env: join(lab.home, "env"),
    runs: join(lab.home, "runs"),
    tmp: "/tmp",
  },
  ...(login ? loginOf(lab) : {}),
  ...profile,
});

function loginOf(lab: SlurmLab): object {
  const { port, identityFile, knownHosts } = lab.ssh;
  return {
    login: { host: "127.0.0.1", user: LAB_USER, port, identityFile },
    account: "ml",
    sshConfig: "/dev/null",
    knownHosts,
    transport: "ssh2",
  };
}

/** The stand-in beside the real scripts, where every user may read them. */
function payloadOf(lab: SlurmLab): string {
  const payload = join(lab.folder, "payload");
  mkdirSync(payload, { recursive: true, mode: 0o755 });
  cpSync(join(root, "test/launch/stand-in/understudy_payload"), join(payload, "understudy_payload"), {
    recursive: true,
  });
  for (const name of ["wrapper.sh", "link.sh", "far", "requirements-cuda.lock"]) {
    try {
      symlinkSync(join(root, "launchers/payload", name), join(payload, name));
    } catch {
      // Another bench on this lab has made it.
    }
  }
  return payload;
}
