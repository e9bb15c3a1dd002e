import { describe, expect, it } from "vitest";
import { findCheckpoint, listCheckpoints } from "../../src/checkpoint/index.ts";
import type { Launcher } from "../../src/launch/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { makeDataStage, packOnce, prepared } from "./data-stage.ts";
import { save, say, scriptedStage, type ScriptedStage } from "./scripted.ts";

packOnce();

const RUN = "20260131-101500-far-ab12";

const started = async ({ far, shop: open, job }: ScriptedStage): Promise<Shop> => {
  const here = await makeDataStage();
  const training = await prepared(await here.shop(), RUN);
  const shop = open();
  await startRun(shop, job(RUN, { training }));
  say(far, RUN, { attempt: 1, type: "started", host: "n1" });
  return shop;
};

describe("checkpoints of a training run far away", { timeout: 300_000 }, () => {
  it("are registered while it trains, each once, with the place where they lie", async () => {
    const stage = await scriptedStage();
    const { far, project } = stage;
    const shop = await started(stage);
    await advanceRun(shop, RUN);
    expect(await listCheckpoints(project, RUN)).toEqual([]);
    const first = far.asked.lists;
    save(far, RUN, 2);
    await advanceRun(shop, RUN);
    expect(await findCheckpoint(project, `${RUN}@2`)).toMatchObject({
      uri: `ssh://trainer@login1/far/runs/${RUN}/output/checkpoint-2`,
      attempt: 1,
      complete: { digestsChecked: true },
      parents: { baseModel: "tiny" },
    });
    // A login node is asked for a listing when there is something new, not at every look.
    for (let looks = 0; looks < 5; looks++) await advanceRun(shop, RUN);
    expect(far.asked.lists).toBe(first + 1);
    expect(far.asked.digests).toHaveLength(1);
  });

  it("are registered by the next controller when one was killed before it had looked", async () => {
    const stage = await scriptedStage();
    const { far, clock, project } = stage;
    const shop = await started(stage);
    await advanceRun(shop, RUN);
    save(far, RUN, 2);
    const killed: Launcher = {
      ...far.launcher,
      artifacts: (ref) => ({
        ...far.launcher.artifacts(ref),
        list: async () => {
          throw new Error("killed");
        },
      }),
    };
    const doomed = { ...shop, launchers: { ...shop.launchers, of: async () => killed } };
    await expect(advanceRun(doomed, RUN)).rejects.toThrow("killed");
    expect(await listCheckpoints(project, RUN)).toEqual([]);
    clock.forward(61_000);
    await advanceRun(stage.shop("next"), RUN);
    expect((await listCheckpoints(project, RUN)).map(({ step }) => step)).toEqual([2]);
  });

  it("are left out while they are not whole, told once, and taken when they are", async () => {
    const stage = await scriptedStage();
    const { far, project, said } = stage;
    const shop = await started(stage);
    save(far, RUN, 2);
    const weights = `${RUN}/output/checkpoint-2/model.safetensors`;
    const whole = far.files.get(weights) ?? Buffer.alloc(0);
    far.files.set(weights, whole.subarray(0, 20));
    await advanceRun(shop, RUN);
    save(far, RUN, 4);
    await advanceRun(shop, RUN);
    expect((await listCheckpoints(project, RUN)).map(({ step }) => step)).toEqual([4]);
    expect(said.filter((progress) => progress.type === "note")).toHaveLength(1);
    far.files.set(weights, whole);
    say(far, RUN, { attempt: 1, type: "checkpoint", step: 4, checkpoint: "checkpoint-4" });
    await advanceRun(shop, RUN);
    expect((await listCheckpoints(project, RUN)).map(({ step }) => step)).toEqual([2, 4]);
  });
});
