import { describe, expect, it } from "vitest";
import { markerOf } from "../../src/launch/index.ts";
import type { RunState } from "../../src/track/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { CAPACITY_DAYS } from "../../src/workflow/budgets.ts";
import { startRun, stopRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { notesOf } from "../../src/workflow/watch-notes.ts";
import { ended, result, save, say, scriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-far-ab12";
const MARKER = markerOf(RUN, 1);
const MINUTE = 60_000;
const DAY = 86_400_000;

const look = async (shop: Shop): Promise<RunState> => (await advanceRun(shop, RUN)).run.state;
const reasons = (shop: Shop): (string | null)[] => shop.store.attempts(RUN).map(({ reason }) => reason);

describe("a submit that was refused for now", () => {
  it("is tried again with growing waits, under the same marker, and says when", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    const refusal = { outcome: "rejected", reason: "QOS submit limit", retry: "no_capacity" } as const;
    far.submits.push(refusal, refusal, refusal);
    expect(await startRun(shop, job(RUN))).toMatchObject({ state: "waiting" });
    const waits: number[] = [];
    for (let tries = 1; tries <= 3; tries++) {
      const [summary] = await summariesOf(shop, [RUN]);
      const nextAt = Date.parse(summary?.nextTryAt ?? "");
      waits.push(nextAt - clock.now());
      expect(shop.store.getRun(RUN).reason).toContain(`next try at ${summary?.nextTryAt}`);
      clock.forward(nextAt - clock.now() - 1);
      expect(await look(shop)).toBe("waiting");
      expect(far.asked.plans).toHaveLength(tries);
      clock.forward(1);
      expect(await look(shop)).toBe(tries === 3 ? "starting" : "waiting");
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[2]).toBeGreaterThan(2 * (waits[0] ?? Infinity));
    // Certainly refused: nobody has to be asked whether it was accepted.
    expect(far.asked.finds).toEqual([]);
    expect(new Set(far.asked.plans.map(({ attempt }) => attempt.marker))).toEqual(new Set([MARKER]));
    expect(shop.store.attempts(RUN)).toHaveLength(1);
  });

  it("is given up after a bounded time, not after a number of tries", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    const refuse = (): void =>
      void far.submits.push({ outcome: "rejected", reason: "host down", retry: "unreachable" });
    refuse();
    await startRun(shop, job(RUN));
    let days = 0;
    while ((await look(shop)) === "waiting" && days < 2 * CAPACITY_DAYS) {
      clock.forward(DAY / 4);
      days += 1 / 4;
      refuse();
    }
    expect(days).toBe(CAPACITY_DAYS);
    expect(shop.store.getRun(RUN)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("host down"),
    });
    expect(reasons(shop)).toEqual(["unreachable"]);
  });

  it("is looked for first when a controller was killed while it was sent again", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "rejected", reason: "full", retry: "no_capacity" });
    await startRun(shop, job(RUN));
    clock.forward(20 * MINUTE);
    far.submits.push(() => {
      throw new Error("killed");
    });
    await expect(look(shop)).rejects.toThrow("killed");
    const [attempt] = shop.store.attempts(RUN);
    expect(attempt && notesOf(attempt).refused?.sentAgain).toBe(true);
    const plan = far.asked.plans[1];
    far.finds.set(MARKER, {
      outcome: "found",
      refs: [refOf(MARKER, plan?.cwd ?? "")],
    });
    expect(await look(open("next"))).toBe("starting");
    expect(far.asked.plans).toHaveLength(2);
  });

  it("ends at once when a stop is asked for, and permanently where it never will be accepted", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "rejected", reason: "full", retry: "no_capacity" });
    await startRun(shop, job(RUN));
    expect((await stopRun(shop, RUN, "graceful")).run.state).toBe("cancelled");
    expect(reasons(shop)).toEqual(["cancelled"]);
    far.submits.push({ outcome: "rejected", reason: "Invalid account" });
    expect(await startRun(shop, job("other"))).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("Invalid account"),
    });
  });
});

describe("a submit whose answer was lost", () => {
  it("is settled by looking for it alone, and waits as long as records may lag", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "Socket timed out" });
    expect((await startRun(shop, job(RUN))).state).toBe("ambiguous");
    far.finds.set(MARKER, { outcome: "unavailable", reason: "slurmdbd is down" });
    for (let hour = 0; hour < 24; hour++) {
      clock.forward(60 * MINUTE);
      expect(await look(shop)).toBe("ambiguous");
    }
    far.finds.set(MARKER, { outcome: "none" });
    expect(await look(shop)).toBe("ambiguous");
    clock.forward(MINUTE - 1);
    expect(await look(shop)).toBe("ambiguous");
    expect(far.asked.plans).toHaveLength(1);
    clock.forward(1);
    expect(await look(shop)).toBe("starting");
    expect(far.asked.plans).toHaveLength(2);
  });

  it("is adopted when it is found after all", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "Socket timed out" });
    await startRun(shop, job(RUN));
    expect(await look(shop)).toBe("ambiguous");
    clock.forward(MINUTE / 2);
    const found = refOf(MARKER, `/far/runs/${RUN}/attempts/1`);
    far.finds.set(MARKER, { outcome: "found", refs: [found] });
    expect(await look(shop)).toBe("starting");
    expect(far.asked.plans).toHaveLength(1);
    expect(shop.store.attempts(RUN)[0]?.refs).toEqual([found]);
  });
});

describe("what cannot be seen", () => {
  it("moves nothing for an hour, cancels nothing, and is called stale", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    say(far, RUN, { attempt: 1, type: "started", host: "n1" });
    expect(await look(shop)).toBe("running");
    const before = shop.store.getRun(RUN);
    const writes = shop.store.events(RUN).length;
    far.sights.set(MARKER, { phase: "unavailable", detail: "squeue: Socket timed out" });
    for (let minute = 0; minute < 60; minute++) {
      clock.forward(MINUTE);
      const { run, unavailable } = await advanceRun(shop, RUN);
      expect(run).toEqual(before);
      expect(unavailable).toContain("Socket timed out");
    }
    expect(shop.store.events(RUN)).toHaveLength(writes);
    expect(far.asked.cancelled).toEqual([]);
    expect(far.asked.plans).toHaveLength(1);
    const [summary] = await summariesOf(shop, [RUN]);
    expect(summary).toMatchObject({ isStale: true, lastSeen: before.lastSeenAt });
    expect(summary?.next).toContain(`stale since ${before.lastSeenAt}`);
    // It heals with the next good answer.
    far.sights.delete(MARKER);
    await advanceRun(shop, RUN);
    expect((await summariesOf(shop, [RUN]))[0]?.isStale).toBe(false);
  });

  it("is lost only after absence in working queries, at both ends of the deadline", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(MARKER, { phase: "absent", detail: "not listed" });
    clock.forward(60 * MINUTE);
    expect(await look(shop)).toBe("starting");
    far.sights.set(MARKER, { phase: "unavailable", detail: "down" });
    clock.forward(60 * MINUTE);
    expect(await look(shop)).toBe("starting");
    far.sights.set(MARKER, { phase: "live", detail: "", state: "running" });
    expect(await look(shop)).toBe("starting");
    far.sights.set(MARKER, { phase: "absent", detail: "not listed" });
    expect(await look(shop)).toBe("starting");
    clock.forward(6 * MINUTE - 1);
    expect(await look(shop)).toBe("starting");
    clock.forward(1);
    expect(await look(shop)).toBe("lost");
    expect(reasons(shop)).toEqual(["evidence_missing"]);
    expect(far.asked.plans).toHaveLength(1);
  });

  it.each([
    ["completed", "lost", "result_missing"],
    ["failed", "recovering", "node_lost"],
  ] as const)("waits for the result of a %s job as long as files may lag", async (cause, state, reason) => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(MARKER, ended(cause, null));
    expect(await look(shop)).toBe("starting");
    clock.forward(MINUTE - 1);
    expect(await look(shop)).toBe("starting");
    clock.forward(1);
    expect(await look(shop)).toBe(state);
    expect(reasons(shop)[0]).toBe(reason);
    // The job is known: it is not said that there is no trace of it.
    expect(shop.store.getRun(RUN).reason).not.toContain("no trace of the job");
  });

  it("takes a result and a checkpoint that arrive late", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(MARKER, ended("completed", null));
    expect(await look(shop)).toBe("starting");
    clock.forward(MINUTE / 2);
    far.sights.set(MARKER, ended("completed", result(MARKER)));
    expect(await look(shop)).toBe("starting");
    save(far, RUN, 4);
    expect(await look(shop)).toBe("succeeded");
  });
});
