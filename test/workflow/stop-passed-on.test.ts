import { describe, expect, it } from "vitest";
import { RemoteError } from "../../src/core/errors.ts";
import { markerOf } from "../../src/launch/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun, stopRun } from "../../src/workflow/runs.ts";
import { ended, result, save, say, scriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-stop-ab12";
const marker = (number: number): string => markerOf(RUN, number);
const next = (number: number): object => ({
  continues: {
    refs: [refOf(marker(number), `/far/runs/${RUN}/attempts/${number}`)],
    token: `T.${number}`,
  },
});

describe("a stop reaches the attempt that runs now", () => {
  it("through all that ended while nobody watched", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    await advanceRun(shop, RUN);
    for (const number of [1, 2]) {
      say(far, RUN, { attempt: number, type: "started", host: "n1" });
      save(far, RUN, number, number);
      far.sights.set(marker(number), ended("walltime", null, next(number + 1)));
    }
    await stopRun(shop, RUN, "graceful");
    expect(shop.store.attempts(RUN)).toHaveLength(3);
    expect(far.asked.cancelled).toEqual([marker(3)]);
    far.sights.set(marker(3), ended("completed", result(marker(3), { exitCode: 3 })));
    expect((await advanceRun(shop, RUN)).run.state).toBe("cancelled");
  });

  it("when only the accounts are down and nothing can be seen of it", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(marker(1), { phase: "unavailable", detail: "the accounts do not answer" });
    await stopRun(shop, RUN, "graceful");
    expect(far.asked.cancelled).toEqual([marker(1)]);
    await advanceRun(shop, RUN);
    expect(far.asked.cancelled).toHaveLength(1);
  });

  it("or says that it did not, and is passed on by the next look", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(marker(1), { phase: "unavailable", detail: "no route to host" });
    far.cancel = () => {
      throw new RemoteError("TRANSPORT_UNREACHABLE", "no route to host");
    };
    await expect(stopRun(shop, RUN, "graceful")).rejects.toMatchObject({ code: "STOP_PENDING" });
    far.cancel = () => undefined;
    await advanceRun(shop, RUN);
    expect(far.asked.cancelled.at(-1)).toBe(marker(1));
  });

  it("and a chain whose next attempt nobody had recorded yet", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    await advanceRun(shop, RUN);
    say(far, RUN, { attempt: 1, type: "started", host: "n1" });
    save(far, RUN, 1, 1);
    // Killed between "attempt 1 has ended" and the record of attempt 2.
    const held = shop.store.acquireLease(RUN, { owner: "killed", milliseconds: 1 });
    if (held.outcome !== "acquired") throw new Error("held");
    shop.store.endAttempt(held.lease, 1, {
      reason: "preempted",
      exitCode: null,
      evidence: { observation: ended("preempted", null, next(2)), proof: "", detail: "preempted" },
    });
    const from = shop.store.getRun(RUN).state;
    shop.store.transition(held.lease, { from, to: "recovering", reason: "preempted" });
    shop.store.releaseLease(held.lease);
    await stopRun(shop, RUN, "graceful");
    expect(far.asked.cancelled).toEqual([marker(2)]);
    expect(shop.store.getRun(RUN).state).toBe("cancelling");
  });
});
