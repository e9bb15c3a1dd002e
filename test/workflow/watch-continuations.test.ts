import { describe, expect, it } from "vitest";
import { markerOf, type Continuation, type Observation } from "../../src/launch/index.ts";
import type { RunState } from "../../src/track/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { BUDGETS } from "../../src/workflow/budgets.ts";
import { resumeRun, startRun, stopRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { ended, result, save, say, scriptedStage, type ScriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-chain-ab12";

const look = async (shop: Shop): Promise<RunState> => (await advanceRun(shop, RUN)).run.state;
const reasons = (shop: Shop): (string | null)[] => shop.store.attempts(RUN).map(({ reason }) => reason);

/** What the far side goes on with after an attempt. */
const next = (after: number): Continuation => ({
  refs: [refOf(markerOf(RUN, after + 1), `/far/runs/${RUN}/attempts/${after + 1}`)],
  token: `T.${after + 1}`,
});

const goesOn = (after: number, cause: Parameters<typeof ended>[0]): Observation =>
  ended(cause, null, { continues: next(after) });

/** Three links: two reach the time limit with progress, the third finishes. Nobody looked meanwhile. */
const away = (far: ScriptedStage["far"]): void => {
  for (const number of [1, 2]) {
    say(far, RUN, { attempt: number, type: "started", host: "n1" });
    save(far, RUN, number, number);
    far.sights.set(markerOf(RUN, number), goesOn(number, "walltime"));
  }
  save(far, RUN, 4, 3);
  const last = markerOf(RUN, 3);
  far.sights.set(last, ended("completed", result(last)));
};

/** A store that ends its controller at the n-th write, before or after it: nothing of that controller happens any more. */
const mortal = (shop: Shop, at: number, when: "before" | "after"): Shop => {
  const WRITES = [
    "transition",
    "addAttempt",
    "updateAttempt",
    "endAttempt",
    "appendEvent",
    "ingest",
    "markSeen",
  ];
  let writes = 0;
  let dead = false;
  const store = new Proxy(shop.store, {
    get: (target, name: keyof Shop["store"]) => {
      const method: unknown = target[name];
      if (typeof method !== "function") return method;
      return (...words: unknown[]): unknown => {
        // A killed process releases nothing.
        if (dead && name === "releaseLease") return undefined;
        if (dead) throw new Error("killed");
        const isHit = WRITES.includes(name) && (writes += 1) === at;
        if (isHit && when === "before") dead = true;
        if (dead) throw new Error("killed");
        const answer: unknown = method.apply(target, words);
        if (isHit) dead = true;
        if (dead) throw new Error("killed");
        return answer;
      };
    },
  });
  return { ...shop, store };
};

describe("a run that the far side goes on with", () => {
  it("is walked attempt by attempt after hours without a controller", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    away(far);
    const states: RunState[] = [];
    for (let looks = 0; looks < 3; looks++) states.push(await look(shop));
    expect(states).toEqual(["recovering", "recovering", "succeeded"]);
    expect(reasons(shop)).toEqual(["walltime", "walltime", "succeeded"]);
    expect(shop.store.attempts(RUN).slice(1)).toMatchObject([
      { number: 2, token: "T.2", refs: next(1).refs },
      { number: 3, token: "T.3", refs: next(2).refs },
    ]);
    // One submit for all of it, and nothing was cancelled.
    expect(far.asked.plans).toHaveLength(1);
    expect(far.asked.cancelled).toEqual([]);
    expect(shop.store.events(RUN, { types: ["checkpoint"] })).toHaveLength(3);
  });

  it("is seen to queue and to run in its later attempts", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    save(far, RUN, 2);
    far.sights.set(markerOf(RUN, 1), goesOn(1, "preempted"));
    far.sights.set(markerOf(RUN, 2), { phase: "live", state: "queued", detail: "Resources" });
    expect(await look(shop)).toBe("recovering");
    expect(await look(shop)).toBe("queued");
    expect(shop.store.getRun(RUN).reason).toBe("queued (attempt 2): Resources");
    far.sights.set(markerOf(RUN, 2), { phase: "live", state: "running", detail: "n2" });
    expect(await look(shop)).toBe("starting");
    say(far, RUN, { attempt: 2, type: "started", host: "n2" });
    expect(await look(shop)).toBe("running");
  });

  it("survives a kill before and after every write, and the next controller ends with the same record", async () => {
    let at = 1;
    for (; ; at++) {
      let reached = false;
      for (const when of ["before", "after"] as const) {
        const { far, clock, shop: open, job } = await scriptedStage();
        const first = open("first");
        await startRun(first, job(RUN));
        away(far);
        const doomed = mortal(first, at, when);
        try {
          for (let looks = 0; looks < 3; looks++) await look(doomed);
        } catch {
          reached = true;
        }
        clock.forward(61_000);
        const second = open("second");
        for (let looks = 0; looks < 4; looks++) await look(second);
        const label = `write ${at}, killed ${when}`;
        expect(second.store.getRun(RUN).state, label).toBe("succeeded");
        expect(reasons(second), label).toEqual(["walltime", "walltime", "succeeded"]);
        expect(far.asked.plans, label).toHaveLength(1);
        expect(second.store.events(RUN, { types: ["checkpoint"] }), label).toHaveLength(3);
        expect(second.store.events(RUN, { types: ["attempt.ended"] }), label).toHaveLength(3);
      }
      if (!reached) break;
    }
    // Three attempts with their events, ends and openings.
    expect(at).toBeGreaterThan(8);
  }, 120_000);

  it("is ended where a person asked for the stop, whatever attempt it is in", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(markerOf(RUN, 1), goesOn(1, "preempted"));
    await stopRun(shop, RUN, "graceful");
    expect(shop.store.attempts(RUN)).toHaveLength(2);
    expect(await look(shop)).toBe("cancelling");
    expect(far.asked.cancelled).toEqual([markerOf(RUN, 2)]);
    // Asked once for each attempt, however often it is looked at.
    expect(await look(shop)).toBe("cancelling");
    expect(far.asked.cancelled).toHaveLength(1);
    far.sights.set(markerOf(RUN, 2), ended("cancelled", null));
    expect(await look(shop)).toBe("cancelled");
    expect(reasons(shop)).toEqual(["cancelled", "cancelled"]);
  });

  it("is ended where its budget is spent, and is what the reason table says, not cancelled", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    const last = BUDGETS.infra + 1;
    for (let number = 1; number <= last; number++) {
      far.sights.set(markerOf(RUN, number), goesOn(number, "node_fail"));
      await look(shop);
    }
    expect(shop.store.attempts(RUN)).toHaveLength(last + 1);
    expect(shop.store.getRun(RUN).reason).toContain("is being ended");
    expect(await look(shop)).toBe("cancelling");
    expect(far.asked.cancelled).toEqual([markerOf(RUN, last + 1)]);
    far.sights.set(markerOf(RUN, last + 1), ended("cancelled", null));
    expect(await look(shop)).toBe("failed");
    expect(far.asked.plans).toHaveLength(1);
    // A person may go on: the budgets begin anew, and what was given up is forgotten.
    await resumeRun(shop, RUN);
    expect(await look(shop)).toBe("starting");
    expect(far.asked.plans).toHaveLength(2);
    expect(far.asked.plans[1]?.attempt.number).toBe(last + 2);
  });

  it("has succeeded when it finishes while it is being ended", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(markerOf(RUN, 1), goesOn(1, "out_of_memory"));
    await look(shop);
    expect(await look(shop)).toBe("cancelling");
    save(far, RUN, 4, 2);
    far.sights.set(markerOf(RUN, 2), ended("completed", result(markerOf(RUN, 2))));
    expect(await look(shop)).toBe("succeeded");
  });

  it("is not ended for an end that is not understood", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(markerOf(RUN, 1), goesOn(1, "unknown"));
    expect(await look(shop)).toBe("recovering");
    await look(shop);
    expect(far.asked.cancelled).toEqual([]);
    expect(reasons(shop)).toEqual(["unknown", null]);
  });

  it("moves nothing when its launcher names a job that is not the next attempt", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.sights.set(markerOf(RUN, 1), ended("preempted", null, { continues: next(5) }));
    await expect(look(shop)).rejects.toMatchObject({ code: "CONTINUATION_FOREIGN" });
    expect(far.asked.plans).toHaveLength(1);
    expect(shop.store.attempts(RUN)).toHaveLength(1);
  });
});
