import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { openStore, type Lease, type NewRun, type Store } from "../../src/track/index.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** A clock that stands still until it is moved. */
export const handClock = (
  start = Date.UTC(2026, 0, 31, 10, 15, 0),
): Clock & { forward(ms: number): void } => {
  let now = start;
  return {
    now: () => now,
    sleep: async () => undefined,
    forward: (milliseconds) => {
      now += milliseconds;
    },
  };
};

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) removeFolder(folder);
});

/** A folder that goes away with the tests of this file. */
export const freshFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-track-"));
  folders.push(folder);
  return folder;
};

export const freshPath = (): string => join(freshFolder(), "state", "state.sqlite");

export const aRun = (changes: Partial<NewRun> = {}): NewRun => ({
  id: "20260131-101500-smoke-ab12",
  kind: "train",
  name: "smoke",
  recipeDigest: "d".repeat(64),
  lock: { recipe: { name: "smoke" }, empty: null },
  ...changes,
});

export const leaseOn = (store: Store, runId: string, owner = "me"): Lease => {
  const answer = store.acquireLease(runId, { owner, milliseconds: 30_000 });
  if (answer.outcome !== "acquired") throw new Error(`held by ${answer.owner}`);
  return answer.lease;
};

/** A store with one run under lease. */
export const opened = (): {
  store: Store;
  path: string;
  clock: ReturnType<typeof handClock>;
  lease: Lease;
  runId: string;
} => {
  const path = freshPath();
  const clock = handClock();
  const store = openStore(path, clock);
  const runId = store.createRun(aRun()).id;
  return { store, path, clock, runId, lease: leaseOn(store, runId) };
};

/** The code of the error that `work` throws. */
export const codeOf = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
  return "no error";
};
