import { describe, expect, it } from "vitest";
import { markerOf } from "../../src/launch/index.ts";
import { runLogs } from "../../src/workflow/logs.ts";
import { resumeRun, startRun, stopRun } from "../../src/workflow/runs.ts";
import { watchRuns, type WatchPass } from "../../src/workflow/watch.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { scriptedStage, type ScriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";
import { until } from "./support.ts";

const RUN = "20260131-101500-away-ab12";
const MARKER = markerOf(RUN, 1);
const LOST = "the connection was lost";
const unreachable = { outcome: "rejected", reason: LOST, retry: "unreachable" } as const;

const unseen = async (stage: ScriptedStage): Promise<unknown> =>
  Object.fromEntries((await watchRuns(stage.shop(), { once: true })).unseen);

describe("a machine that is away when a job is sent", () => {
  it("is told by one look, for as long as it does not answer", async () => {
    const stage = await scriptedStage();
    stage.far.submits.push({ outcome: "ambiguous", reason: LOST });
    await startRun(stage.shop(), stage.job(RUN));
    stage.far.finds.set(MARKER, { outcome: "unavailable", reason: "no route to host" });
    expect(await unseen(stage)).toEqual({ [RUN]: "no route to host" });
    // It answers, and has not listed the job yet: it was looked at.
    stage.far.finds.set(MARKER, { outcome: "none" });
    expect(await unseen(stage)).toEqual({});
    stage.far.finds.set(MARKER, { outcome: "found", refs: [refOf(MARKER, `/far/runs/${RUN}/attempts/1`)] });
    expect(await unseen(stage)).toEqual({});
    expect(stage.shop().store.getRun(RUN).state).toBe("starting");
  });

  it("is tried again at once by one look and by a resume, under the same marker", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    stage.far.submits.push(unreachable, unreachable);
    expect(await startRun(shop, stage.job(RUN))).toMatchObject({
      state: "waiting",
      reason: expect.stringMatching(/next try at \S+, by whoever watches$/),
    });
    expect(await unseen(stage)).toEqual({ [RUN]: LOST });
    expect(stage.far.asked.plans).toHaveLength(2);
    expect(await resumeRun(shop, RUN)).toMatchObject({ state: "starting" });
    expect(new Set(stage.far.asked.plans.map(({ attempt }) => attempt.marker))).toEqual(new Set([MARKER]));
    expect(shop.store.attempts(RUN)).toHaveLength(1);
  });

  it("keeps its wait where another attempt would be counted, and a person is told who goes on", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    await startRun(shop, stage.job("parent"));
    expect(await startRun(shop, stage.job(RUN, { parentId: "parent" }))).toMatchObject({ state: "waiting" });
    await expect(resumeRun(shop, RUN)).rejects.toMatchObject({
      code: "RUN_LIVE",
      hint: expect.stringContaining(`run watch ${RUN} (waits for run parent`),
    });
  });

  it("leaves no log, and says so", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    stage.far.submits.push({ outcome: "ambiguous", reason: LOST }, unreachable);
    await startRun(shop, stage.job(RUN));
    const read = async (runId: string): Promise<number> => {
      let lines = 0;
      for await (const { text } of runLogs(shop, { runId, follow: false })) lines += text.length;
      return lines;
    };
    await expect(read(RUN)).rejects.toMatchObject({
      code: "LOG_UNKNOWN",
      actor: "remote",
      message: expect.stringContaining(LOST),
      hint: expect.stringContaining(`run settle ${RUN} --as failed`),
    });
    await startRun(shop, stage.job("other"));
    expect(await read("other")).toBe(0);
    expect(JSON.stringify(stage.said)).toContain(
      "there is no log: no job of run other is known; it is waiting",
    );
  });

  it("does not let a stop pass for one that was passed on", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    stage.far.submits.push({ outcome: "ambiguous", reason: LOST });
    await startRun(shop, stage.job(RUN));
    stage.far.finds.set(MARKER, { outcome: "unavailable", reason: "no route to host" });
    await expect(stopRun(shop, RUN, "graceful")).rejects.toMatchObject({
      code: "STOP_PENDING",
      message: expect.stringContaining("no route to host"),
    });
  });
});

describe("a stop", () => {
  it("says whether its job was told", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    await startRun(shop, stage.job(RUN));
    await startRun(shop, stage.job("over"));
    expect(await stopRun(shop, RUN, "graceful")).toMatchObject({
      passedOn: true,
      run: { state: "cancelling" },
    });
    // It has ended, and what it left has not come yet: there is nobody to be told.
    const sight = { phase: "ended", result: null, detail: "", cause: "completed" } as const;
    stage.far.sights.set(markerOf("over", 1), sight);
    expect(await stopRun(shop, "over", "graceful")).toMatchObject({
      passedOn: false,
      run: { state: "starting", stopRequested: true },
    });
  });
});

describe("a watcher", () => {
  it("tells an end that another command has recorded first", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    await startRun(shop, stage.job(RUN));
    const told: string[] = [];
    const onPass = ({ looks }: WatchPass): void => void told.push(...looks.map(({ state }) => state));
    const watching = watchRuns(shop, { onPass });
    await until(() => told.at(-1) === "starting" || undefined);
    const other = stage.shop("other");
    stage.far.sights.set(MARKER, { phase: "ended", result: null, detail: "", cause: "cancelled" });
    await watchRuns(other, { once: true });
    const { state } = other.store.getRun(RUN);
    expect(state).toBe("cancelled");
    await until(() => {
      stage.clock.forward(60_000);
      return told.at(-1) === state || undefined;
    });
    expect((await watching).runs).toMatchObject([{ state }]);
    expect(told.filter((word) => word === state)).toHaveLength(1);
  });

  it("is one only while it goes on: not who looked once, and not who has ended", async () => {
    const stage = await scriptedStage();
    const stop = new AbortController();
    const shop = stage.shop("me", { signal: stop.signal });
    await startRun(shop, stage.job(RUN));
    await watchRuns(shop, { once: true });
    const next = async (): Promise<string> =>
      (await summariesOf(stage.shop("other"), [RUN], { ask: "never" }))[0]?.next ?? "";
    expect(await next()).toContain("nobody watches");
    const watching = watchRuns(shop, { runs: [RUN] });
    watching.catch(() => undefined);
    await until(async () => ((await next()).startsWith("somebody watches it") ? true : undefined));
    stop.abort(new Error("Ctrl-C"));
    await expect(watching).rejects.toThrow("Ctrl-C");
    expect(await next()).toContain("nobody watches");
  });
});

describe("when a job was last seen", () => {
  it("is the same for every command, and an earlier answer is called one", async () => {
    const stage = await scriptedStage();
    const shop = stage.shop();
    await startRun(shop, stage.job(RUN));
    const [listed] = await summariesOf(shop, undefined, { ask: "due" });
    expect(listed?.lastSeen).not.toBeNull();
    stage.clock.forward(60_000);
    stage.far.sights.set(MARKER, { phase: "unavailable", detail: "CredentialsProviderError" });
    const [shown] = await summariesOf(shop, [RUN], { ask: "now" });
    expect(shown).toMatchObject({ lastSeen: listed?.lastSeen, isStale: true });
    expect(shown?.next).toContain("it cannot be looked at now (CredentialsProviderError)");
    await summariesOf(shop, undefined, { ask: "now" });
    stage.clock.forward(1000);
    const [kept] = await summariesOf(stage.shop("other"), [RUN], { ask: "due" });
    expect(kept?.lastSeen).toBe(listed?.lastSeen);
    expect(kept?.next).toMatch(/when another command asked, at \S+ \(CredentialsProviderError\).*--fresh/);
  });
});
