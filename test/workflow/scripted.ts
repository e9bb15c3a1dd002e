import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { projectAt, type Project } from "../../src/core/project.ts";
import {
  LauncherProfile,
  type EndCause,
  type Observation,
  type WrapperResult,
} from "../../src/launch/index.ts";
import { openStore, type Store } from "../../src/track/index.ts";
import { launcherPool } from "../../src/workflow/launchers-pool.ts";
import type { Progress } from "../../src/workflow/index.ts";
import type { NewJob } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { makeProject } from "../support/temporary-project.ts";
import { handClock, type HandClock } from "./scripted-clock.ts";
import { scripted, type Scripted } from "./scripted-launcher.ts";
import { removeFolder } from "../support/remove-folder.ts";

export const clusterProfile = (name = "lab"): LauncherProfile =>
  LauncherProfile.parse({
    schemaVersion: 1,
    kind: "slurm",
    description: name,
    time: "1:00:00",
    pollSeconds: 30,
    login: { host: "login1", user: "trainer" },
    paths: { data: "/far/data", models: "/far/models", env: "/far/env", runs: "/far/runs" },
  });

export interface ScriptedStage {
  readonly clock: HandClock;
  readonly far: Scripted;
  readonly project: Project;
  readonly said: Progress[];
  /** Another controller on the same project, e.g. the one that comes after a kill. */
  readonly shop: (owner?: string, changes?: Partial<Pick<Shop, "signal">>) => Shop;
  readonly job: (runId: string, changes?: Partial<NewJob>, profile?: LauncherProfile) => NewJob;
}

/** A project whose launchers are all the scripted one. */
export const scriptedStage = async (): Promise<ScriptedStage> => {
  const root = await makeProject();
  const project = projectAt(root);
  const payload = join(root, "launchers/payload");
  mkdirSync(payload, { recursive: true });
  const clock = handClock();
  const far = scripted();
  const said: Progress[] = [];
  const stores: Store[] = [];
  onTestFinished(() => {
    for (const store of stores) store.close();
    removeFolder(root);
  });
  return {
    clock,
    far,
    project,
    said,
    shop: (owner = "me", changes = {}) => {
      const store = openStore(join(project.state, "state.sqlite"), clock);
      stores.push(store);
      const onProgress = (progress: Progress): void => void said.push(progress);
      return {
        project,
        store,
        clock,
        environment: {},
        signal: new AbortController().signal,
        onProgress,
        unsound: new Set(),
        collected: new Set(),
        launchers: launcherPool({ clock, environment: {}, onProgress }, async () => far.launcher),
        payload,
        owner,
        ...changes,
      };
    },
    job: (runId, changes = {}, profile = clusterProfile()) => ({
      job: {
        kind: "train",
        runId,
        runFolder: `/far/runs/${runId}`,
        manifest: { schemaVersion: 1, kind: "train", run: runId, model: { path: "/m", revision: "tiny" } },
        python: "python3",
        payload,
        profile,
        diskBytes: 1,
        secrets: [],
        inputs: [],
        environment: null,
      },
      proof: { kind: "train", steps: 4 },
      profileName: "lab",
      training: null,
      name: "scripted",
      ...changes,
    }),
  };
};

export const result = (marker: string, changes: Partial<WrapperResult> = {}): WrapperResult => ({
  schemaVersion: 1,
  marker,
  exitCode: 0,
  signal: null,
  startedAt: "",
  endedAt: "",
  host: "n1",
  reason: "exited",
  detail: "",
  ...changes,
});

export const ended = (cause: EndCause, was: WrapperResult | null, more: object = {}): Observation => ({
  phase: "ended",
  result: was,
  detail: cause,
  cause,
  ...more,
});

/** Appends a line to the events of a run. */
export const say = (far: Scripted, runId: string, event: Readonly<Record<string, unknown>>): void => {
  const key = `${runId}/events.jsonl`;
  const line = JSON.stringify({ v: 1, at: "2026-01-31T10:00:00Z", ...event });
  far.files.set(key, Buffer.concat([far.files.get(key) ?? Buffer.alloc(0), Buffer.from(`${line}\n`)]));
};

/** A complete checkpoint of a run. */
export const save = (far: Scripted, runId: string, step: number, attempt = 1): void => {
  const values = Buffer.alloc(4, step);
  const header = Buffer.from(JSON.stringify({ w: { dtype: "F32", shape: [1], data_offsets: [0, 4] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const weights = Buffer.concat([length, header, values]);
  const folder = `${runId}/output/checkpoint-${step}`;
  far.files.set(`${folder}/model.safetensors`, weights);
  const marker = {
    schemaVersion: 1,
    step,
    epoch: 1,
    kind: "adapter",
    worldSize: 2,
    trainLoss: 1,
    evalLoss: 1,
    files: { "model.safetensors": { bytes: weights.length, sha256: sha256(weights) } },
  };
  far.files.set(`${folder}/_COMPLETE.json`, Buffer.from(JSON.stringify(marker)));
  say(far, runId, { attempt, type: "checkpoint", step, checkpoint: `checkpoint-${step}` });
};
