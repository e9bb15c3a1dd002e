import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { markerOf, type Observation, type Submission } from "../../src/launch/index.ts";
import { startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { watchPass, watchRuns, type WatchPass } from "../../src/workflow/watch.ts";
import { newWatcher } from "../../src/workflow/watch-groups.ts";
import { clusterProfile, ended, result, save, say, scriptedStage, type ScriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const MINUTE = 60_000;

/** Lets everything happen that waits for nothing but its turn. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn++) await setImmediate();
};

const ids = ({ looks }: WatchPass): string[] => looks.map(({ id }) => id);

/** `slow` is about to be sent, beside `same` of its launcher and `other` of another one. The upload ends by `release`. */
const uploading = async (stage: ScriptedStage, shop: Shop): Promise<() => void> => {
  const { far, clock, job } = stage;
  far.submits.push({ outcome: "rejected", reason: "full", retry: "no_capacity" });
  await startRun(shop, job("slow"));
  await startRun(shop, job("same"));
  await startRun(shop, job("other", {}, clusterProfile("two")));
  clock.forward(20 * MINUTE);
  let release = (): void => undefined;
  const marker = markerOf("slow", 1);
  const accepted: Submission = {
    outcome: "accepted",
    refs: [refOf(marker, "/far/runs/slow/attempts/1")],
  };
  far.submits.push(
    async () => new Promise<Submission>((resolve) => void (release = () => resolve(accepted))),
  );
  return () => release();
};

describe("a run that takes long", () => {
  it("keeps neither other launchers nor other runs of its own waiting", async () => {
    const stage = await scriptedStage();
    const { far, clock } = stage;
    const shop = stage.shop();
    const release = await uploading(stage, shop);
    const watcher = newWatcher();
    for (const id of ["same", "other"]) say(far, id, { attempt: 1, type: "started", host: "n1" });
    const first = watchPass(shop, watcher, {});
    await quiet();
    for (const id of ["same", "other"]) expect(shop.store.getRun(id).state).toBe("running");
    clock.forward(2000);
    expect(await first).toMatchObject({ live: 3 });
    await quiet();
    clock.forward(MINUTE);
    far.sights.set(markerOf("other", 1), ended("failed", result(markerOf("other", 1), { exitCode: 1 })));
    save(far, "same", 2);
    const second = await watchPass(shop, watcher, {});
    expect(ids(second)).toEqual(["same", "other"]);
    expect(second.live).toBe(2);
    expect(shop.store.getRun("other").state).toBe("failed");
    // It is sent once, whatever passes come by.
    expect(far.asked.plans.filter(({ runId }) => runId === "slow")).toHaveLength(2);
    release();
    await quiet();
    clock.forward(MINUTE);
    expect(ids(await watchPass(shop, watcher, {}))).toContain("slow");
    expect(shop.store.getRun("slow").state).toBe("starting");
    expect(watcher.working.size).toBe(0);
  });

  it("does not keep others waiting when its launcher gives no answer", async () => {
    const stage = await scriptedStage();
    const { far, clock } = stage;
    const shop = stage.shop();
    await startRun(shop, stage.job("mute"));
    await startRun(shop, stage.job("other", {}, clusterProfile("two")));
    let answer = (): void => undefined;
    far.sights.set(
      markerOf("mute", 1),
      async () =>
        new Promise<Observation>(
          (resolve) => void (answer = () => resolve({ phase: "unavailable", detail: "no answer" })),
        ),
    );
    const watcher = newWatcher();
    const first = watchPass(shop, watcher, {});
    await quiet();
    clock.forward(2000);
    expect(ids(await first)).toEqual(["other"]);
    await quiet();
    clock.forward(MINUTE);
    expect(ids(await watchPass(shop, watcher, {}))).toEqual(["other"]);
    // Not asked again while the question is open.
    expect(far.asked.observed.filter(([marker]) => marker === markerOf("mute", 1))).toHaveLength(1);
    answer();
    await quiet();
    const last = await watchPass(shop, watcher, {});
    expect(last.looks.find(({ id }) => id === "mute")?.unavailable).toBe("no answer");
    expect(last.silent).toHaveLength(1);
  });

  it("is waited for by a watcher that is interrupted", async () => {
    const stage = await scriptedStage();
    const stop = new AbortController();
    const shop = stage.shop("me", { signal: stop.signal });
    const release = await uploading(stage, shop);
    let isOver = false;
    const watching = watchRuns(shop).finally(() => void (isOver = true));
    watching.catch(() => undefined);
    await quiet();
    stage.clock.forward(2000);
    await quiet();
    stop.abort(new Error("Ctrl-C"));
    await quiet();
    expect(isOver).toBe(false);
    release();
    await expect(watching).rejects.toThrow("Ctrl-C");
    expect(shop.store.getRun("slow").state).toBe("starting");
  });

  it("fails no run when it is interrupted while it sends", async () => {
    const stage = await scriptedStage();
    const stop = new AbortController();
    const shop = stage.shop("me", { signal: stop.signal });
    stage.far.submits.push(() => {
      stop.abort(new Error("Ctrl-C"));
      return { outcome: "rejected", reason: "the upload was aborted" };
    });
    await expect(startRun(shop, stage.job("one"))).rejects.toThrow("Ctrl-C");
    expect(shop.store.getRun("one").state).toBe("submitting");
    const later = stage.shop("later");
    await watchRuns(later, { once: true });
    stage.clock.forward(2 * MINUTE);
    await watchRuns(later, { once: true });
    expect(later.store.getRun("one").state).toBe("starting");
  });
});
