import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { markedProcesses } from "../../src/launch/supervisor.ts";
import { quickstart } from "../../src/workflow/index.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { makeDataStage, packOnce } from "./data-stage.ts";
import { until, type Stage } from "./support.ts";

packOnce();

const request = { dataset: "greenroom", recipe: "recipes/short.yaml", profile: "local" } as const;

const recipe = (stage: Stage, seed: number): void =>
  writeFileSync(
    join(stage.project.recipes, "short.yaml"),
    [
      "schemaVersion: 1",
      "extends: quickstart.yaml",
      "name: short",
      "description: For a test",
      `training: { seed: ${seed}, duration: { steps: 4 } }`,
      "evaluation: { everySteps: 2 }",
      "",
    ].join("\n"),
  );

describe("quickstart", { timeout: 300_000 }, () => {
  it("goes the whole way to a report, and once more with a run of its own", async () => {
    const stage = await makeDataStage();
    recipe(stage, 1);
    const shop = await stage.shop();
    const first = await quickstart(shop, request);
    expect(existsSync(first.path)).toBe(true);
    const stages = stage.said.flatMap((said) => (said.type === "stage" ? [said.stage] : []));
    expect(stages).toEqual(["pack", "environment", "train", "evaluate", "report"]);
    const starts = stage.log("starts.log").length;
    const second = await quickstart(shop, request);
    expect(second.runId).not.toBe(first.runId);
    // The same weights again: trained anew, but every row is found.
    expect(stage.log("starts.log").slice(starts)).toEqual([`${second.runId} 1`]);
    expect(JSON.stringify(stage.said)).toContain(
      `rows were there already (from run ${first.runId}): nothing`,
    );
    const [summary] = await summariesOf(shop, [second.runId]);
    expect(summary?.next).toBe(`done; its report: ${second.path}`);
  });

  it("goes on with the run of its journal, even when that run was never recorded", async () => {
    const stage = await makeDataStage();
    recipe(stage, 1);
    const journal = join(stage.project.state, "quickstart", "journal.json");
    const shop = await stage.shop();
    const { runId } = await quickstart(shop, request);
    const open = { schemaVersion: 1, runId: "20260131-101500-quickstart-ab12", status: "open" };
    writeFileSync(journal, JSON.stringify(open));
    expect((await quickstart(shop, request)).runId).toBe(open.runId);
    expect(JSON.parse(readFileSync(journal, "utf8"))).toMatchObject({ runId: open.runId, status: "done" });
    expect(runId).not.toBe(open.runId);
  });

  it("ends the jobs of a run whose recipe was changed, and begins a new one", async () => {
    const stage = await makeDataStage();
    recipe(stage, 1);
    stage.behave({ infer: { waitAt: "task-1" } });
    const aborting = new AbortController();
    const interrupted = await stage.shop({ signal: aborting.signal });
    const running = quickstart(interrupted, request);
    await until(() => (stage.log("tasks.log").some((line) => line.startsWith("infer ")) ? true : undefined));
    aborting.abort(new Error("Ctrl-C"));
    await expect(running).rejects.toThrow();
    recipe(stage, 2);
    stage.behave({});
    const shop = await stage.shop();
    const [old] = shop.store.listRuns({ kind: "train" });
    const { runId } = await quickstart(shop, request);
    expect(runId).not.toBe(old?.id);
    expect(shop.store.getRun(`${old?.id}-infer-1`).state).toBe("cancelled");
    for (const attempt of shop.store.attempts(`${old?.id}-infer-1`)) {
      expect(await markedProcesses(attempt)).toEqual([]);
    }
    expect(shop.store.getRun(old?.id ?? "").state).toBe("succeeded");
  });
});
