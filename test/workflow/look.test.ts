import { describe, expect, it } from "vitest";
import { advanceRun, followRun, outlook, startRun } from "../../src/workflow/index.ts";
import { makeStage, until } from "./support.ts";

const RUN = "20260131-101500-looked-ab12";

describe("looking at a run without watching it", { timeout: 300_000 }, () => {
  it("records how a job ended, but starts nothing and does not count as a watcher", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await startRun(shop, stage.trainJob(RUN));
    await until(async () => (await advanceRun(shop, RUN)).run.state === "running" || undefined);
    for (let look = 0; look < 3; look++) await advanceRun(shop, RUN, "look");
    const run = shop.store.getRun(RUN);
    const seen = Date.parse(run.lastSeenAt ?? "");
    expect(outlook(run, seen + 10 * 60_000)).toMatch(/^stale since/);
    expect(outlook(run, seen)).toMatch(/^the job goes on by itself; nobody watches/);
    stage.go();
    await until(async () => (await advanceRun(shop, RUN, "look")).run.state === "succeeded" || undefined);
    expect(shop.store.attempts(RUN)).toHaveLength(1);
  });

  it("leaves the next attempt to whoever watches", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await startRun(shop, stage.trainJob(RUN));
    await until(async () => (await advanceRun(shop, RUN)).run.state === "running" || undefined);
    await stage.killJobs();
    await until(async () => (await advanceRun(shop, RUN, "look")).run.state === "recovering" || undefined);
    for (let look = 0; look < 3; look++) await advanceRun(shop, RUN, "look");
    expect(shop.store.attempts(RUN)).toHaveLength(1);
    stage.go();
    expect((await followRun(shop, RUN)).state).toBe("succeeded");
    expect(shop.store.attempts(RUN)).toHaveLength(2);
  });
});
