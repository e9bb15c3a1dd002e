import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { withProcessLock } from "../../src/core/process-lock.ts";
import { packDataset, packShare, parseShare, type PackResult } from "../../src/dataset/index.ts";
import { projectWith } from "./corpus.ts";

it("waits for another pack of the same data set, says so once, and finds it done", async () => {
  const project = await projectWith();
  const waits: number[] = [];
  let second: Promise<PackResult> | undefined;
  const locks = join(project.state, "datasets", "small.pack-lock");
  await withProcessLock(locks, { clock: systemClock }, async () => {
    second = packDataset({ project, name: "small", onWait: (holder) => void waits.push(holder) });
    while (waits.length === 0) await systemClock.sleep(5);
    // A share has its own part of the work.
    const share = await packShare({ project, name: "small" }, parseShare("1/1"));
    expect(share).toMatchObject({ outcome: "packed", reused: false });
  });
  expect(await second).toMatchObject({ outcome: "packed", reused: true });
  expect(waits).toEqual([process.pid]);
});

it("names an unknown data set before it waits for anybody", async () => {
  const project = await projectWith();
  await expect(packDataset({ project, name: "smal" })).rejects.toMatchObject({ code: "DATASET_UNKNOWN" });
});
