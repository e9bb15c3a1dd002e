import { describe, expect, it } from "vitest";
import { markerOf } from "../../src/launch/index.ts";
import type { RunState } from "../../src/track/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { CAPACITY_DAYS } from "../../src/workflow/budgets.ts";
import { startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { ended, result, say, scriptedStage } from "./scripted.ts";

const RUN = "20260131-101500-far-ab12";
const MARKER = markerOf(RUN, 1);
const MINUTE = 60_000;
const DAY = 86_400_000;

const look = async (shop: Shop): Promise<RunState> => (await advanceRun(shop, RUN)).run.state;
const reasons = (shop: Shop): (string | null)[] => shop.store.attempts(RUN).map(({ reason }) => reason);

describe("a machine that fails", () => {
  it("is kept away from in the next attempt", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(
      MARKER,
      ended("failed", result(MARKER, { exitCode: 69, reason: "node-check", host: "bad7" })),
    );
    expect(await look(shop)).toBe("recovering");
    clock.forward(MINUTE);
    expect(await look(shop)).toBe("starting");
    say(far, RUN, { attempt: 2, type: "started", host: "bad3" });
    far.sights.set(markerOf(RUN, 2), ended("node_fail", null, { node: "rack1-3" }));
    expect(await look(shop)).toBe("recovering");
    expect(await look(shop)).toBe("starting");
    // What a machine calls itself says nothing to its scheduler.
    say(far, RUN, { attempt: 3, type: "started", host: "bad5" });
    far.sights.set(markerOf(RUN, 3), ended("node_fail", null));
    expect(await look(shop)).toBe("recovering");
    expect(await look(shop)).toBe("starting");
    expect(far.asked.plans.map(({ attempt }) => attempt.excludedNodes)).toEqual([
      [],
      ["bad7"],
      ["bad7", "rack1-3"],
      ["bad7", "rack1-3"],
    ]);
    expect(reasons(shop)).toEqual(["node_check", "node_lost", "node_lost", null]);
  });

  it("is not to blame for a download that ends with the same code", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    const was = result(MARKER, { exitCode: 69, reason: "exited", host: "good7" });
    far.sights.set(MARKER, ended("failed", was, { node: "good7" }));
    expect(await look(shop)).toBe("recovering");
    clock.forward(MINUTE);
    expect(await look(shop)).toBe("starting");
    expect(far.asked.plans.map(({ attempt }) => attempt.excludedNodes)).toEqual([[], []]);
    expect(reasons(shop)).toEqual(["node_check", null]);
  });

  it("spends its own budget and no other: preemptions do not eat it up", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    const endNext = async (cause: "preempted" | "node_fail"): Promise<RunState> => {
      far.sights.set(markerOf(RUN, shop.store.attempts(RUN).length), ended(cause, null));
      await look(shop);
      return look(shop);
    };
    for (let number = 0; number < 10; number++) expect(await endNext("preempted")).toBe("starting");
    for (let number = 0; number < 3; number++) expect(await endNext("node_fail")).toBe("starting");
    const [summary] = await summariesOf(shop, [RUN]);
    const spent = Object.fromEntries(
      (summary?.budgets ?? []).map(({ budget, spent: number }) => [budget, number]),
    );
    expect(spent).toEqual({ preemption: 10, infra: 3, timeout: 0, capacity: 0 });
    expect(await endNext("node_fail")).toBe("failed");
  });

  it("waits for capacity in a row that is bounded by time", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    const start = clock.now();
    for (let tries = 0; tries < 2000 && shop.store.getRun(RUN).state !== "failed"; tries++) {
      far.sights.set(markerOf(RUN, shop.store.attempts(RUN).length), ended("no_capacity", null));
      await look(shop);
      clock.forward(DAY / 4);
      await look(shop);
    }
    expect(shop.store.getRun(RUN).state).toBe("failed");
    const days = (clock.now() - start) / DAY;
    expect(Math.abs(days - CAPACITY_DAYS)).toBeLessThanOrEqual(0.5);
  });
});
