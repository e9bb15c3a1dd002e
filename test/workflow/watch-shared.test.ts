import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { processOwner } from "../../src/core/process-owner.ts";
import { markerOf } from "../../src/launch/index.ts";
import { startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { inTurnAt } from "../../src/workflow/turn.ts";
import { watchPass } from "../../src/workflow/watch.ts";
import { newWatcher } from "../../src/workflow/watch-groups.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { clusterProfile, ended, result, say, scriptedStage, type ScriptedStage } from "./scripted.ts";

const IDS = ["a", "b", "c"];
const SECOND = 1000;

const started = async (): Promise<ScriptedStage> => {
  const stage = await scriptedStage();
  const shop = stage.shop();
  for (const id of IDS) await startRun(shop, stage.job(id));
  stage.far.asked.observed.length = 0;
  return stage;
};

/** Another process of the project each time. */
const list = async (
  stage: ScriptedStage,
  ask: "due" | "now" | "never" = "due",
): ReturnType<typeof summariesOf> => summariesOf(stage.shop(`process-${Math.random()}`), undefined, { ask });

const questions = ({ far }: ScriptedStage): number => far.asked.observed.length;

describe("an answer of a cluster", () => {
  it("serves every process for as long as the profile's interval, and is about all runs", async () => {
    const stage = await started();
    await summariesOf(stage.shop(), ["b"], { ask: "due" });
    expect(stage.far.asked.observed.map((markers) => markers.toSorted())).toEqual([
      IDS.map((id) => markerOf(id, 1)),
    ]);
    const reads = stage.far.asked.reads;
    for (let second = 0; second < 29; second++) {
      stage.clock.forward(SECOND);
      await list(stage);
    }
    expect(questions(stage)).toBe(1);
    expect(stage.far.asked.reads).toBe(reads);
    stage.clock.forward(SECOND);
    await list(stage);
    await list(stage);
    expect(questions(stage)).toBe(2);
  });

  it("is kept when it was none: a login node that is down is not knocked at every second", async () => {
    const stage = await started();
    for (const id of IDS)
      stage.far.sights.set(markerOf(id, 1), { phase: "unavailable", detail: "Socket timed out" });
    await list(stage);
    const [again] = await list(stage);
    expect(questions(stage)).toBe(1);
    expect(again).toMatchObject({ unavailable: "Socket timed out", isStale: true });
    expect(again?.next).toContain("nothing is concluded");
  });

  it("moves runs on when it is asked, and says when each was seen", async () => {
    const stage = await started();
    say(stage.far, "a", { attempt: 1, type: "started", host: "n1" });
    stage.far.sights.set(markerOf("b", 1), ended("failed", result(markerOf("b", 1), { exitCode: 1 })));
    const askedAt = new Date(stage.clock.now()).toISOString();
    await list(stage);
    stage.clock.forward(20 * SECOND);
    const byId = new Map((await list(stage)).map((summary) => [summary.run.id, summary]));
    expect(byId.get("a")).toMatchObject({ run: { state: "running" }, lastSeen: askedAt, isStale: false });
    expect(byId.get("a")?.next).toContain("nobody watches");
    expect(byId.get("b")).toMatchObject({ run: { state: "failed" }, lastSeen: null });
  });

  it("is asked for at once with --fresh and never with --offline", async () => {
    const stage = await started();
    expect((await list(stage, "never"))[0]).toMatchObject({ lastSeen: null, unavailable: null });
    expect(questions(stage)).toBe(0);
    await list(stage);
    await list(stage, "now");
    expect(questions(stage)).toBe(2);
    stage.clock.forward(3600 * SECOND);
    await list(stage, "never");
    expect(questions(stage)).toBe(2);
  });

  it("asks each cluster by itself", async () => {
    const stage = await started();
    const shop = stage.shop();
    await startRun(shop, stage.job("d", {}, clusterProfile("other")));
    stage.far.asked.observed.length = 0;
    await list(stage);
    await list(stage);
    expect(stage.far.asked.observed.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([1, 3]);
  });
});

describe("who watches", () => {
  const owner = (stage: ScriptedStage): string => {
    const folder = join(stage.project.state, "looks");
    const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".json"));
    const look: { owner: string } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return look.owner;
  };

  it("asks for all others, though it is late by a moment", async () => {
    const stage = await started();
    const watcher = newWatcher();
    const shop = stage.shop("watcher");
    await watchPass(shop, watcher, {});
    await Promise.all(watcher.keeping.values());
    expect(owner(stage)).toBe("watcher");
    stage.clock.forward(35 * SECOND);
    const [seen] = await list(stage);
    expect(questions(stage)).toBe(1);
    expect(seen?.next).toMatch(/^somebody watches it/);
    // One that says nothing for so long does not watch.
    stage.clock.forward(40 * SECOND);
    expect((await list(stage))[0]?.next).toContain("nobody watches");
    expect(questions(stage)).toBe(2);
  });

  it("counts no longer once its process is gone, nor when it looks only once or at some", async () => {
    const stage = await started();
    const gone = stage.shop(`${hostname()}|no-such-boot|1|1`);
    const watcher = newWatcher();
    await watchPass(gone, watcher, {});
    await Promise.all(watcher.keeping.values());
    stage.clock.forward(31 * SECOND);
    await list(stage);
    expect(questions(stage)).toBe(2);
    stage.clock.forward(31 * SECOND);
    await watchPass(stage.shop("once"), newWatcher(), { once: true });
    expect(owner(stage)).toBe("once");
    stage.clock.forward(31 * SECOND);
    const some = newWatcher();
    await watchPass(stage.shop("some"), some, { runs: ["a"] });
    await Promise.all(some.keeping.values());
    expect(owner(stage)).toBe("once");
    await list(stage);
    expect(questions(stage)).toBe(5);
  });
});

const turnOf = (stage: ScriptedStage): string => {
  const name = stage.shop().launchers.nameOf(stage.job("a").job);
  return join(stage.project.state, "looks", `${name}.turn`);
};

describe("a question that another process asks just now", () => {
  it("is not asked a second time, and waited for only a moment", async () => {
    const stage = await started();
    const shop = { ...stage.shop(), clock: systemClock };
    let found: Awaited<ReturnType<typeof summariesOf>> = [];
    await inTurnAt({ ...shop, owner: await processOwner() }, turnOf(stage), async () => {
      found = await summariesOf(shop, undefined, { ask: "due" });
    });
    expect(found).toHaveLength(3);
    expect(questions(stage)).toBe(0);
  }, 60_000);

  it("is asked again when who asked was killed in another container, after a minute and not before", async () => {
    const stage = await started();
    const [host, boot, number, start] = (await processOwner()).split("|");
    const killed = [host, boot, number, start, "pid:[1]"].join("|");
    const turn = { schemaVersion: 1, owner: killed, token: "gone", until: stage.clock.now() + 60_000 };
    mkdirSync(join(stage.project.state, "looks"), { recursive: true });
    writeFileSync(turnOf(stage), JSON.stringify(turn));
    const clock: Shop["clock"] = {
      ...stage.clock,
      // Only who waits for the turn makes the time pass.
      sleep: async (milliseconds, signal) =>
        milliseconds < SECOND ? stage.clock.forward(milliseconds) : stage.clock.sleep(milliseconds, signal),
    };
    const shop = { ...stage.shop(), clock };
    await summariesOf(shop, undefined, { ask: "due" });
    expect(questions(stage)).toBe(0);
    stage.clock.forward(60_000);
    await summariesOf(shop, undefined, { ask: "due" });
    expect(questions(stage)).toBe(1);
    expect(existsSync(turnOf(stage))).toBe(false);
  });

  it("is asked anew when what was kept cannot be read", async () => {
    const stage = await started();
    await list(stage);
    const folder = join(stage.project.state, "looks");
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")))
      writeFileSync(join(folder, file), "{ torn");
    await list(stage);
    expect(questions(stage)).toBe(2);
  });
});
