import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock, type Clock } from "../../src/core/clock.ts";
import type { Lease } from "../../src/track/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { followRun } from "../../src/workflow/follow.ts";
import { startRun } from "../../src/workflow/runs.ts";
import { controller, endOf, type Fatal } from "./controller.ts";
import { makeStage, record, until } from "./support.ts";

const RUN = "20260131-101500-smoke-ab12";

// Time stands still for the one who comes after: it cannot wait for a dead lease to run out.
const standing = (): Clock => {
  const now = systemClock.now();
  return { now: () => now, sleep: async (...words) => systemClock.sleep(...words) };
};

const words = ({ method, when, to, call }: Fatal): string =>
  [when, method, to === undefined ? "" : `to ${to}`, call === undefined ? "" : `(call ${call})`]
    .join(" ")
    .trim();

const named = (fatals: readonly Fatal[]): readonly (readonly [string, Fatal])[] =>
  fatals.map((fatal) => [words(fatal), fatal]);

const SUBMIT: readonly Fatal[] = [
  { method: "createRun", when: "after" },
  { method: "acquireLease", when: "after" },
  { method: "transition", to: "packaged", when: "after" },
  { method: "transition", to: "submitting", when: "after" },
  { method: "addAttempt", when: "after" },
  // Right after the wrapper was started, before anybody has claimed the marker. (The first sleep is the lease's renewal.)
  { method: "sleep", when: "before", call: 2 },
  { method: "updateAttempt", when: "before" },
  { method: "updateAttempt", when: "after" },
  { method: "transition", to: "starting", when: "after" },
  { method: "releaseLease", when: "before" },
];

const WATCH: readonly Fatal[] = [
  { method: "ingest", when: "before" },
  { method: "ingest", when: "after" },
  { method: "transition", to: "running", when: "before" },
  { method: "transition", to: "running", when: "after" },
];

const END: readonly Fatal[] = [
  { method: "endAttempt", when: "before" },
  { method: "endAttempt", when: "after" },
  { method: "transition", to: "succeeded", when: "before" },
  { method: "transition", to: "succeeded", when: "after" },
];

const RECOVERY: readonly Fatal[] = [
  { method: "endAttempt", when: "after" },
  { method: "transition", to: "recovering", when: "before" },
  { method: "transition", to: "recovering", when: "after" },
  { method: "transition", to: "submitting", when: "after", call: 2 },
  { method: "addAttempt", when: "after", call: 2 },
  { method: "updateAttempt", when: "before", call: 2 },
];

describe("a controller killed with kill -9", { timeout: 300_000 }, () => {
  it.each(named([...SUBMIT, ...WATCH, ...END]))("%s: one job, adopted by the next", async (_, fatal) => {
    const stage = await makeStage();
    if (WATCH.includes(fatal)) stage.behave({ train: { waitAt: 3 } });
    const first = controller(stage, { runId: RUN, request: stage.trainJob(RUN), fatal });
    expect(await endOf(first)).toBe("SIGKILL");
    stage.go();
    const shop = await stage.shop({ clock: standing() });
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded" });
    expect(stage.log("starts.log")).toEqual([`${RUN} 1`]);
    expect(shop.store.attempts(RUN)).toMatchObject([{ number: 1, reason: "succeeded" }]);
    expect(stage.log("steps.log")).toEqual(["1 1", "1 2", "1 3", "1 4"]);
    // Whatever was taken in before and after the kill: every line once.
    expect(shop.store.events(RUN, { types: ["step"] })).toHaveLength(4);
  });

  it.each(named(RECOVERY))("%s, after a killed payload: two jobs, one after the other", async (_, fatal) => {
    const stage = await makeStage();
    stage.behave({ train: { killAt: 3 } });
    const first = controller(stage, { runId: RUN, request: stage.trainJob(RUN), fatal });
    expect(await endOf(first)).toBe("SIGKILL");
    const shop = await stage.shop({ clock: standing() });
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded" });
    expect(stage.log("starts.log")).toEqual([`${RUN} 1`, `${RUN} 2`]);
    expect(shop.store.attempts(RUN).map(({ reason }) => reason)).toEqual(["killed", "succeeded"]);
    expect(stage.log("steps.log")).toEqual(["1 1", "1 2", "2 3", "2 4"]);
  });

  it("whose job ended before its acceptance was recorded: the end is found", async () => {
    const stage = await makeStage();
    const fatal: Fatal = { method: "updateAttempt", when: "after" };
    const first = controller(stage, { runId: RUN, request: stage.trainJob(RUN), fatal });
    expect(await endOf(first)).toBe("SIGKILL");
    const result = join(stage.project.state, "runs", RUN, "attempts/1/result.json");
    await until(() => (existsSync(result) ? true : undefined));
    const shop = await stage.shop({ clock: standing() });
    expect(shop.store.getRun(RUN).state).toBe("submitting");
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded" });
    expect(stage.log("starts.log")).toEqual([`${RUN} 1`]);
  });
});

describe("several controllers", { timeout: 300_000 }, () => {
  it("two at once start one job, and both see its end", async () => {
    const stage = await makeStage();
    const shop = await stage.shop();
    record(shop, stage.trainJob(RUN));
    const both = [controller(stage, { runId: RUN }), controller(stage, { runId: RUN })];
    expect(await Promise.all(both.map(endOf))).toEqual([0, 0]);
    expect(stage.log("starts.log")).toEqual([`${RUN} 1`]);
    expect(shop.store.attempts(RUN)).toMatchObject([{ number: 1, reason: "succeeded" }]);
    const opened = shop.store.events(RUN, { types: ["attempt.opened", "attempt.ended"] });
    expect(opened.map(({ type }) => type)).toEqual(["attempt.opened", "attempt.ended"]);
  });

  it("the lease of a living one is respected, that of another machine until it runs out", async () => {
    const stage = await makeStage();
    const shop = await stage.shop({ clock: standing() });
    await startRun(shop, stage.trainJob(RUN));
    const owner = "elsewhere|some-boot|17|99";
    const held = shop.store.acquireLease(RUN, { owner, milliseconds: 60_000 });
    if (held.outcome !== "acquired") throw new Error("the run is held by nobody");
    const before = shop.store.getRun(RUN);
    expect(await advanceRun(shop, RUN)).toMatchObject({ run: before, lines: [], heldBy: owner });
    shop.store.releaseLease(held.lease);
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded" });
  });

  it("one that slept while another took over writes nothing more and goes on watching", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await startRun(shop, stage.trainJob(RUN));
    // The other one takes the run over in the middle of a look.
    const asleep = {
      ...shop,
      store: {
        ...shop.store,
        markSeen: (lease: Lease) => {
          const request = { owner: "other", milliseconds: 60_000, replacing: lease.owner };
          expect(shop.store.acquireLease(RUN, request).outcome).toBe("acquired");
          shop.store.markSeen(lease);
        },
      },
    };
    const answer = await until(async () => {
      const { run, heldBy } = await advanceRun(asleep, RUN);
      return heldBy === null ? undefined : { run, heldBy };
    });
    expect(answer.heldBy).toBe("another controller");
    expect(answer.run.lastSeenAt).toBeNull();
    expect(await advanceRun(shop, RUN)).toMatchObject({ heldBy: "other" });
  });
});
