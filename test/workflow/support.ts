import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../src/core/clock.ts";
import { projectAt, type Project } from "../../src/core/project.ts";
import { processOwner } from "../../src/core/process-owner.ts";
import { findPython, LauncherProfile } from "../../src/launch/index.ts";
import { markedProcesses } from "../../src/launch/supervisor.ts";
import { openStore, type Run } from "../../src/track/index.ts";
import { advanceRun, followRun, type Progress } from "../../src/workflow/index.ts";
import { startRun, type NewJob } from "../../src/workflow/runs.ts";
import { launcherPool } from "../../src/workflow/launchers-pool.ts";
import type { RunLock } from "../../src/workflow/run-lock.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { endIfThere } from "../launch/support.ts";
import { makeProject } from "../support/temporary-project.ts";
import { removeFolder } from "../support/remove-folder.ts";

export const repository = resolve(import.meta.dirname, "../..");

export const python = await findPython(process.env);

/** A project whose payload is the stand-in, with the real wrapper. */
export interface Stage {
  readonly project: Project;
  /** HOME of every job: how the stand-in behaves, and what it has done. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Notes and whatever else the workflows said. */
  readonly said: Progress[];
  shop(changes?: { readonly clock?: Clock; readonly signal?: AbortSignal }): Promise<Shop>;
  /** What the stand-in does wrong, by kind of job. */
  behave(behaviour: Readonly<Record<string, Readonly<Record<string, unknown>>>>): void;
  /** Lets a job that waits go on. */
  go(): void;
  /** Lines of a log that the stand-in keeps. */
  log(name: string): readonly string[];
  trainJob(runId: string, steps?: number): NewJob;
  /** Kills the programs of all jobs; their wrappers say so. */
  killJobs(): Promise<void>;
}

export const makeStage = async (): Promise<Stage> => {
  const root = await makeProject();
  const project = projectAt(root);
  const payload = join(project.launchers, "payload");
  const home = join(root, "home");
  mkdirSync(home);
  mkdirSync(payload);
  cpSync(join(import.meta.dirname, "stand-in/understudy_payload"), join(payload, "understudy_payload"), {
    recursive: true,
  });
  cpSync(join(repository, "launchers/payload/wrapper.sh"), join(payload, "wrapper.sh"));
  cpSync(join(repository, "launchers/local.yaml"), join(project.launchers, "local.yaml"));
  const environment = { ...process.env, HOME: home };
  const said: Progress[] = [];
  const closers: (() => void)[] = [];
  onTestFinished(async () => {
    for (const close of closers) close();
    await endJobs(project);
    removeFolder(root);
  });
  return {
    project,
    home,
    environment,
    said,
    shop: async ({ clock = systemClock, signal = new AbortController().signal } = {}) => {
      const store = openStore(join(project.state, "state.sqlite"), clock);
      closers.push(() => store.close());
      const onProgress = (progress: Progress): void => void said.push(progress);
      return {
        project,
        store,
        clock,
        environment,
        signal,
        onProgress,
        payload,
        unsound: new Set(),
        collected: new Set(),
        launchers: launcherPool({ clock, environment, onProgress }),
        owner: await processOwner(),
      };
    },
    behave: (behaviour) => writeFileSync(join(home, "behaviour.json"), JSON.stringify(behaviour)),
    go: () => writeFileSync(join(home, "go"), ""),
    killJobs: async () => endJobs(project),
    log: (name) => linesOf(join(home, name)),
    trainJob: (runId, steps = 4) => ({
      job: {
        kind: "train",
        runId,
        runFolder: join(project.state, "runs", runId),
        manifest: {
          schemaVersion: 1,
          kind: "train",
          run: runId,
          training: { steps, saveEverySteps: 2 },
          model: { path: join(home, "model"), revision: "tiny" },
        },
        python: python.path,
        payload,
        profile: LauncherProfile.parse({ schemaVersion: 1, kind: "local" }),
        diskBytes: 1,
        secrets: [],
        inputs: [],
        environment: null,
      },
      proof: { kind: "train", steps },
      profileName: "local",
      training: null,
      name: "stand-in",
    }),
  };
};

const linesOf = (path: string): readonly string[] => {
  try {
    return readFileSync(path, "utf8").trimEnd().split("\n");
  } catch {
    return [];
  }
};

// Whatever becomes of a test, nothing it started lives on.
async function endJobs(project: Project): Promise<void> {
  const store = openStore(join(project.state, "state.sqlite"), systemClock);
  try {
    for (const { id } of store.listRuns()) {
      // Again and again: one that is killed may have started another since the look.
      for (const attempt of store.attempts(id)) {
        await until(async () => {
          const found = await markedProcesses(attempt);
          for (const { pid } of found) endIfThere(pid);
          return found.length === 0 ? true : undefined;
        });
      }
    }
  } finally {
    store.close();
  }
}

/** Asks again until the answer is not undefined; gives up after a time that no healthy machine needs. */
export const until = async <Answer>(
  ask: () => Promise<Answer | undefined> | Answer | undefined,
): Promise<Answer> => {
  for (let tries = 0; tries < 2000; tries++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await systemClock.sleep(20);
  }
  throw new Error("it never happened");
};

/** Id of the run of most tests. */
export const RUN = "20260131-101500-smoke-ab12";

/** How its attempts ended. */
export const reasons = (shop: Shop): (string | null)[] =>
  shop.store.attempts(RUN).map(({ reason }) => reason);

export const begin = async (stage: Stage, shop: Shop): Promise<Run> => startRun(shop, stage.trainJob(RUN));

/** Started and followed to its end. */
export const ran = async (stage: Stage, shop: Shop): Promise<Run> => {
  await begin(stage, shop);
  return followRun(shop, RUN);
};

/** Until the job itself has said that it runs. */
export const running = async (shop: Shop): Promise<void> => {
  await until(async () => ((await advanceRun(shop, RUN)).run.state === "running" ? true : undefined));
};

/** A run that is recorded and nothing more: as after a kill right before its start. */
export const record = (shop: Shop, { job, proof, profileName, name }: NewJob): void => {
  const lock: RunLock = {
    schemaVersion: 1,
    job: { ...job, manifest: { ...job.manifest }, secrets: [...job.secrets], inputs: [...job.inputs] },
    proof,
    profileName,
    resolved: null,
    git: null,
    forced: [],
    origins: {},
  };
  shop.store.createRun({ id: job.runId, kind: job.kind, name, recipeDigest: null, lock });
};
