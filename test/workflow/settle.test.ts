import { describe, expect, it } from "vitest";
import { RemoteError } from "../../src/core/errors.ts";
import { markerOf } from "../../src/launch/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { resumeRun, startRun, stopRun } from "../../src/workflow/runs.ts";
import { endWords } from "../../src/track/index.ts";
import { runLogs } from "../../src/workflow/logs.ts";
import { settlementsOf, settleRun } from "../../src/workflow/settle.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { ended, save, say, scriptedStage, type ScriptedStage } from "./scripted.ts";

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
    expect(shop.store.attempts(RUN)).toMatchObject([{ reason: "settled_cancelled" }]);
    expect(shop.store.getRun(RUN).state).toBe("cancelled");
  });

  it.each(["failed", "cancelled", "lost"] as const)(
    "makes a run %s that is to stop and whose machine is gone for good",
    async (as) => {
      const { far, shop: open, job } = await scriptedStage();
      const shop = open();
      await startRun(shop, job(RUN));
      const settlement = { runId: RUN, as, because };
      far.sights.set(markerOf(RUN, 1), { phase: "unavailable", detail: "no route to host" });
      // Nobody wants it to stop: it may come back.
      await expect(settleRun(shop, settlement)).rejects.toMatchObject({
        code: "RUN_DECIDED",
        hint: expect.stringContaining(`run stop ${RUN}`),
      });
      await stopRun(shop, RUN, "graceful");
      await expect(resumeRun(shop, RUN)).rejects.toMatchObject({
        code: "RUN_LIVE",
        hint: expect.stringContaining(`run settle ${RUN}`),
      });
      const [seen] = await summariesOf(shop, [RUN]);
      expect(seen?.next).toContain(`run settle ${RUN} --as cancelled`);
      await expect(settleRun(shop, { ...settlement, as: "succeeded" })).rejects.toMatchObject({
        code: "PROOF_MISSING",
      });
      expect(await settleRun(shop, settlement)).toMatchObject({ state: as });
      const [event] = shop.store.events(RUN, { types: ["run.settled"] });
      expect(event?.data).toEqual({ from: "starting", as, because, unseen: "no route to host" });
      expect(shop.store.attempts(RUN)).toMatchObject([{ reason: `settled_${as}` }]);
      expect((await resumeRun(shop, RUN)).state).toBe("starting");
    },
  );

  it("names nothing that is then refused when the answer of an ambiguous run was lost", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "the connection was lost" });
    await startRun(shop, job(RUN));
    const gone = `if its machine is gone for good: understudy run settle ${RUN} --as failed --because TEXT`;
    for (const refused of [
      settleRun(shop, { runId: RUN, as: "succeeded", because: "x" }),
      resumeRun(shop, RUN),
    ]) {
      const error: unknown = await refused.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ hint: expect.stringContaining(gone) });
      expect(error).toMatchObject({ hint: expect.not.stringContaining("run resume") });
    }
    const [seen] = await summariesOf(shop, [RUN]);
    expect(seen?.next).toContain(gone);
    await settleRun(shop, { runId: RUN, as: "failed", because });
    // Of one that has ended no stop is advised.
    await expect(settleRun(shop, { runId: RUN, as: "failed", because })).rejects.toMatchObject({
      hint: `see it: understudy run show ${RUN}`,
    });
  });

  it("is said of the attempt with its reason, and stays with the run after a resume", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "the connection was lost" });
    await startRun(shop, job(RUN));
    await settleRun(shop, { runId: RUN, as: "cancelled", because: "host away" });
    await resumeRun(shop, RUN);
    say(far, RUN, { attempt: 2, type: "started", host: "n1" });
    far.files.set(`${RUN}/attempts/2/log.txt`, Buffer.from("hello\n"));
    const texts: string[] = [];
    for await (const { text } of runLogs(shop, { runId: RUN, follow: false })) texts.push(text);
    expect(texts).toEqual([
      "--- attempt 2, after attempt 1: settled by hand as cancelled: host away ---",
      "hello",
    ]);
    expect(shop.store.attempts(RUN).map(endWords)).toEqual(["settled by hand as cancelled: host away", null]);
    expect(settlementsOf(shop, RUN)).toMatchObject([{ as: "cancelled", because: "host away" }]);
  });

  it("is carried out though who decided was killed in the middle", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "the connection was lost" });
    await startRun(shop, job(RUN));
    const killed = {
      ...shop.store,
      transition: () => {
        throw new Error("killed");
      },
    };
    await expect(
      settleRun({ ...shop, store: killed }, { runId: RUN, as: "failed", because }),
    ).rejects.toThrow("killed");
    expect((await advanceRun(shop, RUN)).run).toMatchObject({
      state: "failed",
      reason: expect.stringContaining(because),
    });
    expect(far.asked.plans).toHaveLength(1);
  });

  it("leaves a run alone that can be seen, though it does not stop", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.cancel = () => {
      throw new RemoteError("CANCEL_FAILED", "it did not cancel");
    };
    await expect(stopRun(shop, RUN, "graceful")).rejects.toMatchObject({ code: "STOP_PENDING" });
    await expect(settleRun(shop, { runId: RUN, as: "failed", because })).rejects.toMatchObject({
      code: "RUN_DECIDED",
    });
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
