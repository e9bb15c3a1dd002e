import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock, type Clock } from "../../src/core/clock.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { followRun } from "../../src/workflow/follow.ts";
import { runLogs } from "../../src/workflow/logs.ts";
import { resumeRun, startRun, stopRun } from "../../src/workflow/runs.ts";
import { begin, makeStage, reasons, record, RUN, running, until } from "./support.ts";

describe("a run that is stopped, lost or waits", { timeout: 300_000 }, () => {
  it("stops when asked, keeps what is saved, and goes on when resumed", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await begin(stage, shop);
    await running(shop);
    await until(() => (stage.log("steps.log").length === 2 ? true : undefined));
    await expect(resumeRun(shop, RUN)).rejects.toMatchObject({ code: "RUN_LIVE" });
    const stopping = await stopRun(shop, RUN, "graceful");
    expect(["cancelling", "cancelled"]).toContain(stopping.run.state);
    expect(await followRun(shop, RUN)).toMatchObject({ state: "cancelled", stopRequested: true });
    await expect(stopRun(shop, RUN, "graceful")).rejects.toMatchObject({ code: "RUN_ENDED" });
    stage.go();
    await resumeRun(shop, RUN);
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded", stopRequested: false });
    expect(reasons(shop)).toEqual(["cancelled", "succeeded"]);
    expect(stage.log("steps.log")).toEqual(["1 1", "1 2", "1 3", "2 4"]);
    await expect(resumeRun(shop, RUN)).rejects.toMatchObject({ code: "RUN_SUCCEEDED" });
  });

  it("ends at once when told to, and a stop before the start starts nothing", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await begin(stage, shop);
    await running(shop);
    expect((await stopRun(shop, RUN, "now")).run).toMatchObject({ state: "cancelled" });
    record(shop, stage.trainJob("never"));
    expect((await stopRun(shop, "never", "graceful")).run).toMatchObject({ state: "cancelled" });
    expect(shop.store.attempts("never")).toEqual([]);
    expect(stage.log("starts.log")).toEqual([`${RUN} 1`]);
  });

  it("one absent answer proves nothing, and being seen again starts a new clock", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const clock = movable();
    const shop = await stage.shop({ clock });
    await begin(stage, shop);
    await running(shop);
    // Far away one moment, there the next: as a network disk does it.
    const folder = join(stage.project.state, "runs", RUN);
    const away = async (): Promise<void> => rename(folder, `${folder}.away`);
    const back = async (): Promise<void> => rename(`${folder}.away`, folder);
    await away();
    expect((await advanceRun(shop, RUN)).run.state).toBe("running");
    await back();
    expect((await advanceRun(shop, RUN)).run.state).toBe("running");
    clock.forward(3_600_000);
    await away();
    expect((await advanceRun(shop, RUN)).run.state).toBe("running");
    clock.forward(30_000);
    expect((await advanceRun(shop, RUN)).run.state).toBe("running");
    clock.forward(40_000);
    expect((await advanceRun(shop, RUN)).run.state).toBe("lost");
    expect(reasons(shop)).toEqual(["evidence_missing"]);
    await back();
  });

  it("prints every log line of all attempts once", async () => {
    const stage = await makeStage();
    stage.behave({ train: { killAt: 4 } });
    const shop = await stage.shop();
    await begin(stage, shop);
    const lines: string[] = [];
    for await (const { text } of runLogs(shop, { runId: RUN, follow: true })) lines.push(text);
    expect(shop.store.getRun(RUN).state).toBe("succeeded");
    const said = (...texts: string[]): string[] => texts.map((text) => `attempt ${text}`);
    const printed = [
      ...said("1 step 1", "1 step 2", "1 step 3"),
      "--- attempt 2, after attempt 1: the program was killed ---",
      ...said("2 step 3", "2 step 4"),
    ];
    expect(lines).toEqual(printed);
    const again: string[] = [];
    for await (const { text } of runLogs(shop, { runId: RUN, follow: false })) again.push(text);
    expect(again).toEqual(printed);
  });

  it("waits a while before it tries an unfit machine again", async () => {
    const stage = await makeStage();
    const clock = movable();
    const shop = await stage.shop({ clock });
    const request = stage.trainJob(RUN);
    await startRun(shop, { ...request, job: { ...request.job, diskBytes: 1e17 } });
    await until(async () => ((await advanceRun(shop, RUN)).run.state === "recovering" ? true : undefined));
    expect(shop.store.getRun(RUN).reason).toContain("not fit");
    expect((await advanceRun(shop, RUN)).run.state).toBe("recovering");
    expect(reasons(shop)).toEqual(["node_check"]);
    clock.forward(61_000);
    expect((await advanceRun(shop, RUN)).run.state).toBe("starting");
    expect(reasons(shop)).toEqual(["node_check", null]);
    await stopRun(shop, RUN, "now");
    expect(await followRun(shop, RUN)).toMatchObject({ state: "cancelled" });
    expect(stage.log("starts.log")).toEqual([]);
  });
});

function movable(): Clock & { forward(milliseconds: number): void } {
  let ahead = 0;
  return {
    now: () => systemClock.now() + ahead,
    sleep: async (...words) => systemClock.sleep(...words),
    forward: (milliseconds) => {
      ahead += milliseconds;
    },
  };
}
