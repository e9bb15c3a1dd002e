import { describe, expect, it } from "vitest";
import { RemoteError } from "../../src/core/errors.ts";
import { markerOf, type Launcher } from "../../src/launch/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun, stopRun } from "../../src/workflow/runs.ts";
import type { Scripted } from "./scripted-launcher.ts";
import { watchRuns } from "../../src/workflow/watch.ts";
import { ended, result, scriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-stop-ab12";
const MARKER = markerOf(RUN, 1);

/** How jobs were told to end. */
const modes = (far: Scripted): string[] => {
  const told: string[] = [];
  const launcher = { ...far.launcher };
  const cancel: Launcher["cancel"] = async (ref, mode) => {
    told.push(mode);
    return launcher.cancel(ref, mode);
  };
  Object.assign(far.launcher, { cancel });
  return told;
};

describe("a stop at once", () => {
  it("is one for whoever finds the job, when nobody knows it yet", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const told = modes(far);
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "timed out" });
    await startRun(shop, job(RUN));
    await stopRun(shop, RUN, "now");
    far.finds.set(MARKER, { outcome: "found", refs: [refOf(MARKER, `/far/runs/${RUN}/attempts/1`)] });
    const other = open("other");
    await advanceRun(other, RUN);
    expect((await advanceRun(other, RUN)).run).toMatchObject({ state: "cancelling" });
    expect(told).toEqual(["now"]);
    await advanceRun(other, RUN);
    expect(told).toHaveLength(1);
  });

  it("is passed on as one when its machine can be reached again", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const told = modes(far);
    const shop = open();
    await startRun(shop, job(RUN));
    far.cancel = () => {
      throw new RemoteError("TRANSPORT_LOST", "no route to host");
    };
    await expect(stopRun(shop, RUN, "now")).rejects.toMatchObject({ code: "STOP_PENDING" });
    far.cancel = () => undefined;
    told.length = 0;
    await advanceRun(open("other"), RUN);
    expect(told).toEqual(["now"]);
  });

  it("follows a stop that asked for a save and was passed on already", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const told = modes(far);
    const shop = open();
    await startRun(shop, job(RUN));
    await stopRun(shop, RUN, "graceful");
    await advanceRun(shop, RUN);
    expect(told).toEqual(["graceful"]);
    // Another program only records it.
    shop.store.requestStop(RUN, "now");
    await advanceRun(shop, RUN);
    await advanceRun(shop, RUN);
    expect(told).toEqual(["graceful", "now"]);
  });
});

describe("a stop of a blocked run", () => {
  it("ends it, so that it does not go on with what it waited for", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job("parent"));
    await startRun(shop, job("child", { parentId: "parent" }));
    await startRun(shop, job("other", { parentId: "parent" }));
    far.sights.set(markerOf("parent", 1), ended("failed", result(markerOf("parent", 1), { exitCode: 1 })));
    await watchRuns(shop, { once: true });
    await watchRuns(shop, { once: true });
    expect(shop.store.getRun("child").state).toBe("blocked");
    expect((await stopRun(shop, "child", "graceful")).run.state).toBe("cancelled");
    await expect(stopRun(shop, "child", "graceful")).rejects.toMatchObject({ code: "RUN_ENDED" });
    // Recorded only, by a program that another one kept from it.
    shop.store.requestStop("other");
    await watchRuns(shop, { once: true });
    expect(shop.store.getRun("other").state).toBe("cancelled");
  });
});
