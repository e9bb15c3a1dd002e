import { describe, expect, it } from "vitest";
import { evaluateRun } from "../../src/workflow/index.ts";
import { makeDataStage, packOnce, trained } from "./data-stage.ts";
import { until } from "./support.ts";

packOnce();

const RUN = "20260131-101500-first-ab12";

describe("evaluateRun and a lost job", { timeout: 300_000 }, () => {
  it("starts no second job beside one of which nobody knows what has become", async () => {
    const stage = await makeDataStage();
    stage.behave({ score: { waitAt: "task-1" } });
    const aborting = new AbortController();
    const first = await stage.shop({ signal: aborting.signal });
    await trained(first, RUN);
    const evaluating = evaluateRun(first, RUN);
    await until(() => (stage.log("tasks.log").some((line) => line.startsWith("score ")) ? true : undefined));
    aborting.abort(new Error("Ctrl-C"));
    await expect(evaluating).rejects.toThrow();
    const shop = await stage.shop();
    const child = `${RUN}-score-1`;
    const { number } = shop.store.attempts(child)[0] ?? { number: 0 };
    const held = shop.store.acquireLease(child, { owner: "test", milliseconds: 1000 });
    if (held.outcome !== "acquired") throw new Error("held");
    shop.store.endAttempt(held.lease, number, { reason: "evidence_missing", exitCode: null, evidence: null });
    const from = shop.store.getRun(child).state;
    shop.store.transition(held.lease, { from, to: "lost", reason: "no trace of it" });
    shop.store.releaseLease(held.lease);
    await expect(evaluateRun(shop, RUN)).rejects.toMatchObject({ code: "RUN_LOST" });
    expect(shop.store.attempts(child)).toHaveLength(1);
    stage.go();
  });
});
