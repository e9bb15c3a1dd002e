import { describe, expect, it } from "vitest";
import { markerOf } from "../../src/launch/index.ts";
import { resumeRun, startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { watchPass, watchRuns } from "../../src/workflow/watch.ts";
import { newWatcher, type Watcher } from "../../src/workflow/watch-groups.ts";
import { settleRun } from "../../src/workflow/settle.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { ended, result, save, scriptedStage, type ScriptedStage } from "./scripted.ts";

const marker = (id: string, number = 1): string => markerOf(id, number);

const pass = async (shop: Shop, watcher: Watcher = newWatcher()): Promise<unknown> =>
  watchPass(shop, watcher, { once: true });

const stateOf = (shop: Shop, id: string): string => shop.store.getRun(id).state;

describe("a run that waits for another", () => {
  it("waits for the proof, not for the end of a job, and goes when the parent has succeeded", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job("parent"));
    expect((await startRun(shop, job("child", { parentId: "parent" }))).state).toBe("waiting");
    const watcher = newWatcher();
    far.sights.set(marker("parent"), ended("preempted", null));
    await pass(shop, watcher);
    await pass(shop, watcher);
    expect(stateOf(shop, "child")).toBe("waiting");
    expect(far.asked.plans.map(({ runId }) => runId)).toEqual(["parent", "parent"]);
    save(far, "parent", 4, 2);
    far.sights.set(marker("parent", 2), ended("completed", result(marker("parent", 2))));
    await pass(shop, watcher);
    await pass(shop, watcher);
    expect(stateOf(shop, "child")).toBe("starting");
  });

  it("is blocked by a parent that failed, with the reason, and unblocked when that one is resumed", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job("parent"));
    await startRun(shop, job("child", { parentId: "parent" }));
    far.sights.set(marker("parent"), ended("failed", result(marker("parent"), { exitCode: 1 })));
    await watchRuns(shop, { once: true });
    await watchRuns(shop, { once: true });
    expect(shop.store.getRun("child")).toMatchObject({
      state: "blocked",
      reason: expect.stringContaining("parent, which it waits for, is failed"),
    });
    await expect(resumeRun(shop, "child")).rejects.toMatchObject({ code: "RUN_BLOCKED" });
    expect(far.asked.plans.map(({ runId }) => runId)).toEqual(["parent"]);
    await resumeRun(shop, "parent");
    expect(stateOf(shop, "child")).toBe("waiting");
  });

  it("is unblocked by a watcher too, when the one who resumed was killed in between", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job("parent"));
    await startRun(shop, job("child", { parentId: "parent" }));
    far.sights.set(marker("parent"), ended("failed", result(marker("parent"), { exitCode: 1 })));
    for (let looks = 0; looks < 2; looks++) await pass(shop);
    expect(stateOf(shop, "child")).toBe("blocked");
    const answer = shop.store.acquireLease("parent", { owner: "me", milliseconds: 1000 });
    if (answer.outcome !== "acquired") throw new Error("held");
    shop.store.transition(answer.lease, { from: "failed", to: "submitting", reason: "resumed by hand" });
    shop.store.releaseLease(answer.lease);
    await pass(shop);
    expect(stateOf(shop, "child")).toBe("waiting");
  });

  const lostParent = async (): Promise<ScriptedStage & { readonly controller: Shop }> => {
    const stage = await scriptedStage();
    const controller = stage.shop();
    await startRun(controller, stage.job("parent"));
    await startRun(controller, stage.job("child", { parentId: "parent" }));
    await startRun(controller, stage.job("grandchild", { parentId: "child" }));
    stage.far.sights.set(marker("parent"), ended("unknown", null));
    for (let looks = 0; looks < 3; looks++) await pass(controller);
    expect(["parent", "child", "grandchild"].map((id) => stateOf(controller, id))).toEqual([
      "lost",
      "blocked",
      "blocked",
    ]);
    return { ...stage, controller };
  };

  it("says of a lost parent what a person has to do, and goes on when that one is settled as succeeded", async () => {
    const { far, controller } = await lostParent();
    const [child] = await summariesOf(controller, ["child"]);
    expect(child?.run.reason).toMatch(/^run parent, which it waits for, is lost: /);
    expect(child?.next).toContain("which a person has to decide");
    expect(child?.next).toContain("understudy run settle parent");
    save(far, "parent", 4);
    await settleRun(controller, { runId: "parent", as: "succeeded", because: "I looked" });
    expect(["child", "grandchild"].map((id) => stateOf(controller, id))).toEqual(["starting", "waiting"]);
  });

  it("says what a parent has become that is settled otherwise, and goes on after its resume", async () => {
    const { far, controller } = await lostParent();
    await settleRun(controller, { runId: "parent", as: "cancelled", because: "given back" });
    expect(controller.store.getRun("child")).toMatchObject({
      state: "blocked",
      reason: "run parent, which it waits for, is cancelled: settled by hand: given back",
    });
    await resumeRun(controller, "parent");
    expect(["child", "grandchild"].map((id) => stateOf(controller, id))).toEqual(["waiting", "waiting"]);
    save(far, "parent", 4, 2);
    far.sights.set(marker("parent", 2), ended("completed", result(marker("parent", 2))));
    for (let looks = 0; looks < 2; looks++) await pass(controller);
    expect(stateOf(controller, "child")).toBe("starting");
  });

  it("does not keep a decision from being recorded when it cannot be sent itself", async () => {
    const { far, controller } = await lostParent();
    save(far, "parent", 4);
    far.submits.push(() => {
      throw new Error("no route to host");
    });
    const settlement = { runId: "parent", as: "succeeded", because: "I looked" } as const;
    expect((await settleRun(controller, settlement)).state).toBe("succeeded");
    expect(stateOf(controller, "child")).toBe("submitting");
  });
});
