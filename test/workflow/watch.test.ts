import { describe, expect, it } from "vitest";
import { markerOf, type Launcher } from "../../src/launch/index.ts";
import type { Store } from "../../src/track/index.ts";
import { startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { watchPass, watchRuns, type WatchPass } from "../../src/workflow/watch.ts";
import { newWatcher, type Watcher } from "../../src/workflow/watch-groups.ts";
import { clusterProfile, ended, result, save, say, scriptedStage } from "./scripted.ts";

const marker = (id: string, number = 1): string => markerOf(id, number);

const pass = async (shop: Shop, watcher: Watcher = newWatcher()): Promise<WatchPass> =>
  watchPass(shop, watcher, { once: true });

const stateOf = (shop: Shop, id: string): string => shop.store.getRun(id).state;

describe("one pass over many runs", () => {
  it("asks each launcher once for all of its runs", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (let number = 0; number < 9; number++) {
      await startRun(shop, job(`run-${number}`, {}, clusterProfile(number < 6 ? "one" : "two")));
    }
    far.asked.observed.length = 0;
    await pass(shop);
    const sizes = far.asked.observed.map((markers) => markers.length);
    expect(sizes.toSorted((a, b) => a - b)).toEqual([3, 6]);
  });

  it("takes in what each has written and ends each by its own evidence", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (const id of ["good", "bad", "live"]) await startRun(shop, job(id));
    save(far, "good", 4);
    far.sights.set(marker("good"), ended("completed", result(marker("good"))));
    far.sights.set(marker("bad"), ended("failed", result(marker("bad"), { exitCode: 1 })));
    say(far, "live", { attempt: 1, type: "started", host: "n1" });
    await pass(shop);
    expect(["good", "bad", "live"].map((id) => stateOf(shop, id))).toEqual([
      "succeeded",
      "failed",
      "running",
    ]);
  });

  it("does not let one run's trouble stop the others, and keeps it with the run", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (const id of ["a", "b", "c"]) await startRun(shop, job(id));
    const wrong = { refs: [], token: "t" };
    far.sights.set(marker("b"), ended("preempted", null, { continues: wrong }));
    for (const id of ["a", "c"]) say(far, id, { attempt: 1, type: "started", host: "n1" });
    const watcher = newWatcher();
    const { looks } = await pass(shop, watcher);
    expect(looks.find(({ id }) => id === "b")?.trouble).toContain("names no job");
    expect(["a", "b", "c"].map((id) => stateOf(shop, id))).toEqual(["running", "starting", "running"]);
    await pass(shop, watcher);
    // Recorded once, however often it is met.
    expect(shop.store.events("b", { types: ["run.trouble"] })).toHaveLength(1);
  });

  it("keeps other launchers going when one throws, and asks that one less and less often", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job("a", {}, clusterProfile("one")));
    await startRun(shop, job("b", {}, clusterProfile("two")));
    say(far, "b", { attempt: 1, type: "started", host: "n1" });
    far.sights.set(marker("a"), () => {
      throw new Error("the login node is down");
    });
    const watcher = newWatcher();
    const waits: number[] = [];
    for (let looks = 0; looks < 6; looks++) {
      const { silent } = await watchPass(shop, watcher, {});
      const nextAt = silent[0]?.nextAt ?? Number.NaN;
      waits.push(nextAt - clock.now());
      clock.forward(nextAt - clock.now());
    }
    expect(stateOf(shop, "a")).toBe("starting");
    expect(stateOf(shop, "b")).toBe("running");
    expect(waits[3]).toBeGreaterThan(2 * (waits[0] ?? Infinity));
    expect(Math.max(...waits)).toBeLessThanOrEqual(5 * 60_000);
    far.sights.delete(marker("a"));
    expect((await watchPass(shop, watcher, {})).silent).toEqual([]);
  });

  it("writes nothing about runs that go on as before, but that they were seen", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    for (const id of ["a", "b"]) await startRun(shop, job(id));
    say(far, "a", { attempt: 1, type: "started", host: "n1" });
    far.sights.set(marker("b"), { phase: "live", state: "queued", detail: "Priority" });
    const watcher = newWatcher();
    await pass(shop, watcher);
    await pass(shop, watcher);
    const leases: string[] = [];
    const store: Store = {
      ...shop.store,
      acquireLease: (id, request) => {
        leases.push(id);
        return shop.store.acquireLease(id, request);
      },
    };
    const before = ["a", "b"].map((id) => shop.store.getRun(id));
    clock.forward(30_000);
    await pass({ ...shop, store }, watcher);
    expect(leases).toEqual([]);
    const after = ["a", "b"].map((id) => shop.store.getRun(id));
    const lastSeenAt = new Date(clock.now()).toISOString();
    expect(after).toEqual(before.map((run) => ({ ...run, lastSeenAt })));
    // Something new is noticed all the same.
    say(far, "a", { attempt: 1, type: "step", step: 1, loss: 2 });
    await pass({ ...shop, store }, watcher);
    expect(leases).toEqual(["a"]);
    expect(shop.store.series("a", "train/loss")).toEqual([{ step: 1, value: 2 }]);
  });

  it("works on a bounded number of runs of one launcher at once", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (let number = 0; number < 12; number++) await startRun(shop, job(`run-${number}`));
    let now = 0;
    let most = 0;
    const slow: Launcher = {
      ...far.launcher,
      artifacts: (ref) => ({
        ...far.launcher.artifacts(ref),
        read: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise(setImmediate);
          now -= 1;
          return new Uint8Array();
        },
      }),
    };
    await pass({ ...shop, launchers: { ...shop.launchers, of: async () => slow } });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
  });

  it("is shared by two watchers that never act twice", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shops = [open("one"), open("two")];
    const [shop] = shops;
    if (!shop) throw new Error("no shop");
    const ids = Array.from({ length: 5 }, (_, number) => `run-${number}`);
    for (const id of ids) await startRun(shop, job(id));
    for (const id of ids) far.sights.set(marker(id), ended("preempted", null));
    const watchers = shops.map(() => newWatcher());
    for (let looks = 0; looks < 4; looks++) {
      await Promise.all(shops.map(async (one, at) => pass(one, watchers[at])));
      clock.forward(61_000);
    }
    expect(far.asked.plans).toHaveLength(10);
    for (const id of ids) {
      expect(shop.store.attempts(id).map(({ reason }) => reason)).toEqual(["preempted", null]);
    }
  });
});

describe("the loop", () => {
  it("ends when the last run has, and says what became of each", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (const id of ["a", "b"]) await startRun(shop, job(id));
    save(far, "a", 4);
    far.sights.set(marker("a"), ended("completed", result(marker("a"))));
    far.sights.set(marker("b"), ended("failed", result(marker("b"), { exitCode: 2 })));
    const { runs, troubles } = await watchRuns(shop);
    expect(runs.map(({ id, state }) => [id, state])).toEqual([
      ["a", "succeeded"],
      ["b", "failed"],
    ]);
    expect([...troubles]).toEqual([]);
  });

  it("ends with the signal's reason when aborted, and the runs go on", async () => {
    const { shop: open, job, far } = await scriptedStage();
    const stop = new AbortController();
    const shop = open("me", { signal: stop.signal });
    await startRun(shop, job("a"));
    const watching = watchRuns(shop, { onPass: () => stop.abort(new Error("enough")) });
    await expect(watching).rejects.toThrow("enough");
    expect(stateOf(shop, "a")).toBe("starting");
    expect(far.asked.cancelled).toEqual([]);
  });

  it("looks only at those named, and knows what it was asked for", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (const id of ["a", "b"]) await startRun(shop, job(id));
    far.asked.observed.length = 0;
    await watchRuns(shop, { runs: ["b"], once: true });
    expect(far.asked.observed).toEqual([[marker("b")]]);
    await expect(watchRuns(shop, { runs: ["none"] })).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });

  it("closes each launcher at the end, opened once for all runs of a profile", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    for (const id of ["a", "b", "c"])
      await startRun(shop, job(id, {}, clusterProfile(id === "c" ? "two" : "one")));
    await shop.launchers.close();
    expect(far.asked.closed).toBe(2);
  });
});
