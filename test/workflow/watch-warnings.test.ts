import { describe, expect, it } from "vitest";
import { markerOf, type Observation } from "../../src/launch/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun, stopRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { watchPass } from "../../src/workflow/watch.ts";
import { newWatcher } from "../../src/workflow/watch-groups.ts";
import { summariesOf, type RunSummary } from "../../src/workflow/watch-summary.ts";
import { ended, say, scriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-far-ab12";
const MARKER = markerOf(RUN, 1);
const live = (more: object = {}): Observation => ({ phase: "live", detail: "", state: "running", ...more });
const warning = "checkpoints have stopped arriving";

const summary = async (shop: Shop): Promise<RunSummary> => {
  const [found] = await summariesOf(shop, [RUN]);
  if (found === undefined) throw new Error("no summary");
  return found;
};

describe("a job that lives, but not as it should", () => {
  it("is told with the run for as long as it is so, and costs nothing while it stays so", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    say(far, RUN, { attempt: 1, type: "started", host: "n1" });
    const watcher = newWatcher();
    far.sights.set(MARKER, live({ warning }));
    const [look] = (await watchPass(shop, watcher, { once: true })).looks;
    expect(look).toMatchObject({ state: "running", reason: `running; WARNING: ${warning}`, warning });
    const [again] = (await watchPass(shop, watcher, { once: true })).looks;
    expect(again).toMatchObject({ changed: false, warning });
    expect(await summary(shop)).toMatchObject({ warning, run: { reason: expect.stringContaining(warning) } });
    far.sights.set(MARKER, live());
    expect(await summary(shop)).toMatchObject({ warning: null, run: { reason: "running" } });
  });

  it("is told while it waits, starts and is being stopped", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    for (const state of ["queued", "starting"] as const) {
      far.sights.set(MARKER, live({ state, warning }));
      expect((await advanceRun(shop, RUN)).run).toMatchObject({
        state,
        reason: expect.stringContaining(warning),
      });
    }
    await stopRun(shop, RUN, "graceful");
    expect(shop.store.getRun(RUN)).toMatchObject({
      state: "cancelling",
      reason: expect.stringContaining(warning),
    });
  });
});

describe("a chain that is shorter than planned", () => {
  const note = "only 2 of 3 links were accepted: QOSMaxSubmitJobPerUserLimit";

  it("is told for as long as its jobs are those that go on, whatever is seen of them", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "accepted", refs: [refOf(MARKER, `/far/runs/${RUN}/attempts/1`)], note });
    await startRun(shop, job(RUN));
    say(far, RUN, { attempt: 1, type: "started", host: "n1" });
    await advanceRun(shop, RUN);
    expect(shop.store.getRun(RUN).reason).toBe("running");
    expect(await summary(shop)).toMatchObject({ shortfall: note, next: expect.stringContaining(note) });
    const second = markerOf(RUN, 2);
    const continues = { refs: [refOf(second, `/far/runs/${RUN}/attempts/2`)], token: "T.2" };
    far.sights.set(MARKER, ended("preempted", null, { continues }));
    await advanceRun(shop, RUN);
    await advanceRun(shop, RUN);
    expect((await summary(shop)).shortfall).toBe(note);
    // What is sent anew is another chain.
    far.sights.set(second, ended("preempted", null));
    await advanceRun(shop, RUN);
    await advanceRun(shop, RUN);
    expect(shop.store.attempts(RUN)).toHaveLength(3);
    expect((await summary(shop)).shortfall).toBeNull();
  });
});
