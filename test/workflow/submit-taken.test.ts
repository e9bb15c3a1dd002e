import { describe, expect, it } from "vitest";
import { accepted } from "../../src/cli/commands/run/accepted.ts";
import { markerOf } from "../../src/launch/index.ts";
import { startRun } from "../../src/workflow/runs.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { scriptedStage } from "./scripted.ts";

const RUN = "20260131-101500-far-ab12";

describe("an attempt whose number the far side has given out by itself", () => {
  it("is passed over, and the run goes on with the number after the taken ones", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    const taken = { outcome: "rejected", reason: "attempt 2 has begun there", taken: 2 } as const;
    far.submits.push(taken, taken);
    const run = await startRun(shop, job(RUN));
    expect(run.state).toBe("starting");
    expect(far.asked.plans.map(({ attempt }) => attempt.marker)).toEqual(
      [1, 2, 3].map((n) => markerOf(RUN, n)),
    );
    expect(new Set(far.asked.plans.map(({ attempt }) => attempt.token)).size).toBe(3);
    expect(shop.store.attempts(RUN)).toMatchObject([
      { number: 1, reason: "fenced", refs: null },
      { number: 2, reason: "fenced", refs: null },
      { number: 3, reason: null, refs: [{ marker: markerOf(RUN, 3) }] },
    ]);
  });

  it("is opened by the next controller when one is killed between the two writes", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "rejected", reason: "attempt 1 has begun there", taken: 1 }, () => {
      throw new Error("killed");
    });
    await expect(startRun(shop, job(RUN))).rejects.toThrow("killed");
    expect((await advanceRun(shop, RUN)).run.state).not.toBe("failed");
    expect(shop.store.attempts(RUN).at(-1)).toMatchObject({ number: 2, reason: null });
  });
});

describe("a job that is refused for good", () => {
  it("says what was wrong and what to do, and nobody takes its run for started", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "rejected", reason: "torch cannot be had", hint: "set a folder of wheels" });
    const run = await startRun(shop, job(RUN));
    expect(run).toMatchObject({
      state: "failed",
      reason: "the job was not accepted: torch cannot be had (set a folder of wheels)",
    });
    expect(() => accepted(run)).toThrow(
      expect.objectContaining({
        code: "RUN_REJECTED",
        actor: "remote",
        hint: expect.stringContaining(`run resume ${RUN}`),
      }),
    );
    expect(accepted({ ...run, state: "starting" }).state).toBe("starting");
  });
});
