import { describe, expect, it } from "vitest";
import { markerOf } from "../../src/launch/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { resumeRun, startRun } from "../../src/workflow/runs.ts";
import { settleRun } from "../../src/workflow/settle.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { ended, save, scriptedStage, type ScriptedStage } from "./scripted.ts";

const RUN = "20260131-101500-lost-ab12";
const because = "the node was reinstalled";

const lost = async ({ far, shop: open, job }: ScriptedStage): Promise<Shop> => {
  const shop = open();
  await startRun(shop, job(RUN));
  far.sights.set(markerOf(RUN, 1), ended("unknown", null));
  expect((await advanceRun(shop, RUN)).run.state).toBe("lost");
  return shop;
};

describe("settling by hand", () => {
  it.each(["failed", "cancelled"] as const)("makes a lost run %s, with the reason kept", async (as) => {
    const shop = await lost(await scriptedStage());
    expect(await settleRun(shop, { runId: RUN, as, because })).toMatchObject({
      state: as,
      reason: `settled by hand: ${because}`,
    });
    const [event] = shop.store.events(RUN, { types: ["run.settled"] });
    expect(event?.data).toEqual({ from: "lost", as, because });
    await expect(settleRun(shop, { runId: RUN, as, because })).rejects.toMatchObject({ code: "RUN_DECIDED" });
    expect((await resumeRun(shop, RUN)).state).toBe("starting");
  });

  it("calls a run succeeded only when its proof holds", async () => {
    const stage = await scriptedStage();
    const shop = await lost(stage);
    const settlement = { runId: RUN, as: "succeeded", because: "I looked" } as const;
    await expect(settleRun(shop, settlement)).rejects.toMatchObject({ code: "PROOF_MISSING" });
    save(stage.far, RUN, 4);
    stage.far.files.set(`${RUN}/output/checkpoint-4/model.safetensors`, Buffer.from("cut"));
    await expect(settleRun(shop, settlement)).rejects.toMatchObject({ code: "PROOF_MISSING" });
    expect(shop.store.getRun(RUN).state).toBe("lost");
    save(stage.far, RUN, 4);
    expect((await settleRun(shop, settlement)).state).toBe("succeeded");
  });

  it("ends the open attempt of an ambiguous run, and asks for a reason", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "timed out" });
    await startRun(shop, job(RUN));
    await expect(settleRun(shop, { runId: RUN, as: "failed", because: " " })).rejects.toMatchObject({
      code: "REASON_MISSING",
    });
    await expect(settleRun(shop, { runId: RUN, as: "succeeded", because })).rejects.toMatchObject({
      code: "PROOF_MISSING",
    });
    await settleRun(shop, { runId: RUN, as: "cancelled", because });
    expect(shop.store.attempts(RUN)).toMatchObject([{ reason: "unknown" }]);
    expect(shop.store.getRun(RUN).state).toBe("cancelled");
  });

  it("leaves runs alone that evidence decides", async () => {
    const { shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    await expect(settleRun(shop, { runId: RUN, as: "failed", because })).rejects.toMatchObject({
      code: "RUN_DECIDED",
    });
  });
});
