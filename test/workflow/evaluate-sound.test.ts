import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { evaluateRun } from "../../src/workflow/index.ts";
import { makeDataStage, packOnce, trained } from "./data-stage.ts";
import type { Stage } from "./support.ts";

packOnce();

const RUN = "20260131-101500-sound-ab12";

const worked = (stage: Stage, kind = ""): string[] =>
  stage.log("tasks.log").filter((line) => line.startsWith(kind));

describe("what was trained and answered stays what it was", { timeout: 300_000 }, () => {
  it("does not evaluate a checkpoint that was edited after training", async () => {
    const stage = await makeDataStage();
    const shop = await stage.shop();
    await trained(shop, RUN);
    const weights = join(stage.project.state, "runs", RUN, "output", "checkpoint-4", "model.safetensors");
    const bytes = readFileSync(weights);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(weights, bytes);
    await expect(evaluateRun(shop, RUN)).rejects.toMatchObject({ code: "CHECKPOINT_CHANGED" });
    expect(worked(stage)).toEqual([]);
  });

  it("measures anew when the answers are others, and records when the test was opened", async () => {
    const stage = await makeDataStage();
    const shop = await stage.shop();
    await trained(shop, RUN);
    await evaluateRun(shop, RUN);
    const opened = shop.store.events(RUN, { types: ["test.opened"] });
    expect(opened).toHaveLength(1);
    const evaluations = join(stage.project.state, "evaluations");
    const folder = readdirSync(evaluations).find((name) => name.startsWith("measure-")) ?? "";
    const done = join(evaluations, folder, "_DONE.json");
    writeFileSync(
      done,
      readFileSync(done, "utf8").replace(/"answersSha256": "[0-9a-f]/, '"answersSha256": "x'),
    );
    const before = worked(stage, "measure").length;
    await evaluateRun(shop, RUN);
    expect(worked(stage, "measure")).toHaveLength(before + 1);
    expect(shop.store.events(RUN, { types: ["test.opened"] })).toEqual(opened);
  });
});
