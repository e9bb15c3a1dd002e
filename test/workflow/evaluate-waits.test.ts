import { describe, expect, it } from "vitest";
import { evaluateRun, trainFromRecipe } from "../../src/workflow/index.ts";
import { makeDataStage, packOnce, prepared } from "./data-stage.ts";
import { until } from "./support.ts";

packOnce();

const RUN = "20260131-101500-first-ab12";

describe("an evaluation of a run that still trains", { timeout: 300_000 }, () => {
  it("waits for its proof, says so, and is blocked with the reason when there is none", async () => {
    const stage = await makeDataStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await trainFromRecipe(shop, await prepared(shop, RUN), "local");
    const evaluating = evaluateRun(shop, RUN);
    evaluating.catch(() => undefined);
    await until(() => (JSON.stringify(stage.said).includes("its evaluation waits here") ? true : undefined));
    shop.store.requestStop(RUN);
    await expect(evaluating).rejects.toMatchObject({
      code: "EVALUATION_BLOCKED",
      actor: "remote",
      message: expect.stringMatching(/is blocked: run .* is cancelled: /),
    });
    expect(shop.store.listRuns().map(({ id }) => id)).toEqual([RUN]);
    // One that has ended is not waited for.
    await expect(evaluateRun(shop, RUN)).rejects.toMatchObject({
      code: "RUN_NOT_TRAINED",
      actor: "user",
      message: `The training of run ${RUN} is not complete: it is cancelled, and only a complete one is evaluated`,
      hint: expect.stringContaining(`understudy run resume ${RUN} -f`),
    });
  });
});
