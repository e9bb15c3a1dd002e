// One reconcile pass over many tracked runs on one cluster: our own time, memory, and how often the cluster is asked. The launcher
// answers at once from memory, so what is measured is ours alone. Runs have locks of a realistic size; most train, some queue.
// The runs are recorded by another process: what is left of its work is not the watcher's memory.
// Usage: node bench/compiled.js watch [runs]
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { projectAt } from "../src/core/project.ts";
import { jobKey, LauncherProfile, markerOf, type JobRef, type Launcher } from "../src/launch/index.ts";
import { openStore } from "../src/track/index.ts";
import { launcherPool } from "../src/workflow/launchers-pool.ts";
import type { Shop } from "../src/workflow/shop.ts";
import { watchPass } from "../src/workflow/watch.ts";
import { newWatcher } from "../src/workflow/watch-groups.ts";

const LIMIT_MILLISECONDS = 500;
const LIMIT_MEGABYTES = 200;
const PASSES = 3;
const count =
  process.argv
    .slice(1)
    .map(Number)
    .find((value) => value > 0) ?? 1000;

const asked = { observe: 0, reads: 0, lists: 0 };
const missing = (): never => {
  throw new Error("a benchmark starts nothing");
};

const launcher: Launcher = {
  kind: "slurm",
  validate: () => [],
  plan: missing,
  probe: async () => [],
  preflight: async () => [],
  submit: missing,
  find: missing,
  observe: async (refs) => {
    asked.observe += 1;
    return new Map(
      refs.map((ref) => [
        jobKey(ref),
        isQueued(ref)
          ? { phase: "live", state: "queued", detail: "Priority" }
          : { phase: "live", state: "running", detail: "" },
      ]),
    );
  },
  logs: missing,
  artifacts: () => ({
    list: async () => {
      asked.lists += 1;
      return [];
    },
    read: async () => {
      asked.reads += 1;
      return new Uint8Array();
    },
    digest: async () => null,
    download: missing,
  }),
  cancel: missing,
  close: async () => {},
};

const recording = process.argv.indexOf("--record");
const recorded = process.argv[recording + 1];
const root =
  recording !== -1 && recorded !== undefined ? recorded : mkdtempSync(join(tmpdir(), "understudy-watch-"));
if (recording === -1) {
  const { status } = spawnSync(process.execPath, [import.meta.filename, String(count), "--record", root], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("the runs could not be recorded");
}
try {
  const project = projectAt(root);
  mkdirSync(project.state, { recursive: true });
  const store = openStore(join(project.state, "state.sqlite"), systemClock);
  const shop: Shop = {
    project,
    store,
    clock: systemClock,
    environment: {},
    signal: new AbortController().signal,
    onProgress: () => {},
    unsound: new Set(),
    collected: new Set(),
    launchers: launcherPool(
      { clock: systemClock, environment: {}, onProgress: () => {} },
      async () => launcher,
    ),
    payload: root,
    owner: "bench",
  };
  if (recording === -1) await measure(shop);
  else for (let number = 0; number < count; number++) track(shop, number);
  store.close();
} finally {
  if (recording === -1) rmSync(root, { recursive: true, force: true });
}

async function measure(shop: Shop): Promise<void> {
  const watcher = newWatcher();
  const first = await timed(shop, watcher);
  // What the first pass had to write once (states, leases) is done after the second.
  await timed(shop, watcher);
  const passes: number[] = [];
  Object.assign(asked, { observe: 0, reads: 0, lists: 0 });
  const before = process.cpuUsage();
  for (let pass = 0; pass < PASSES; pass++) passes.push(await timed(shop, watcher));
  const { user, system } = process.cpuUsage(before);
  const milliseconds = passes.toSorted((a, b) => a - b)[Math.floor(PASSES / 2)] ?? Number.NaN;
  const megabytes = process.memoryUsage.rss() / 1e6;
  console.log(`${count} runs on one cluster; lock of one run: ${lockBytes(shop)} bytes`);
  console.log(`first pass of a new watcher  ${first.toFixed(0)} ms`);
  console.log(
    `reconcile pass               ${milliseconds.toFixed(0)} ms (median of ${PASSES}: ${passes.map((ms) => ms.toFixed(0)).join(", ")}), limit ${LIMIT_MILLISECONDS} ms`,
  );
  const processor = (user + system) / 1000 / PASSES;
  console.log(`of that, processor time      ${processor.toFixed(0)} ms for each pass`);
  console.log(
    `questions per pass           ${asked.observe / PASSES} to the scheduler, ${asked.reads / PASSES} reads of events, ${asked.lists / PASSES} listings`,
  );
  console.log(`memory (RSS)                 ${megabytes.toFixed(0)} MB, limit ${LIMIT_MEGABYTES} MB`);
  if (!(milliseconds <= LIMIT_MILLISECONDS && megabytes <= LIMIT_MEGABYTES)) process.exitCode = 1;
}

async function timed(shop: Shop, watcher: ReturnType<typeof newWatcher>): Promise<number> {
  const start = performance.now();
  const { looks } = await watchPass(shop, watcher, { once: true });
  const wrong = looks.find(({ trouble, unavailable }) => trouble !== null || unavailable !== null);
  if (looks.length !== count || wrong)
    throw new Error(`the pass went wrong: ${JSON.stringify(wrong ?? looks.length)}`);
  return performance.now() - start;
}

// Every tenth run waits in the queue.
function isQueued({ marker }: JobRef): boolean {
  return marker.endsWith("0-a1");
}

function track({ store }: Shop, number: number): void {
  const runId = `20260131-101500-bench-${number}`;
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "slurm",
    time: "12:00:00",
    paths: { data: "/far/data", models: "/far/models", env: "/far/env", runs: "/far/runs" },
  });
  const shards = Array.from(
    { length: 64 },
    (_, shard) => `/far/data/${"0123456789abcdef".repeat(4)}/${shard}.parquet`,
  );
  const inputs = shards.map((path) => ({
    role: "data",
    path,
    source: path,
    bytes: 1e8,
    sha256: "0".repeat(64),
  }));
  store.createRun({
    id: runId,
    kind: "train",
    name: "bench",
    recipeDigest: "0".repeat(64),
    lock: {
      schemaVersion: 1,
      job: {
        kind: "train",
        runId,
        runFolder: `/far/runs/${runId}`,
        manifest: { data: { train: shards } },
        python: "python3",
        payload: "/far/payload",
        profile,
        diskBytes: 1,
        secrets: [],
        inputs,
        environment: null,
      },
      proof: { kind: "train", steps: 4000 },
      profileName: "bench",
      resolved: null,
      git: null,
      origins: {},
      forced: [],
    },
  });
  const answer = store.acquireLease(runId, { owner: "bench", milliseconds: 60_000 });
  if (answer.outcome !== "acquired") throw new Error("held");
  const { lease } = answer;
  store.addAttempt(lease);
  const marker = markerOf(runId, 1);
  const ref: JobRef = {
    kind: "slurm",
    marker,
    folder: `/far/runs/${runId}/attempts/1`,
    cluster: null,
    jobs: [{ id: String(number + 1), link: 1 }],
    submittedAt: 0,
  };
  store.updateAttempt(lease, 1, { refs: [ref] });
  const steps = [
    "packaged",
    "submitting",
    "starting",
    ...(isQueued(ref) ? [] : ["running" as const]),
  ] as const;
  let from: Parameters<typeof store.transition>[1]["from"] = "draft";
  for (const to of steps) {
    store.transition(lease, { from, to, reason: to });
    from = to;
  }
  if (!isQueued(ref)) store.appendEvent(lease, { type: "started", attempt: 1, data: { host: "n1" } });
  store.releaseLease(lease);
}

function lockBytes({ store }: Shop): number {
  return JSON.stringify(store.listRuns()[0]?.lock ?? null).length;
}
