import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { bootId } from "../../src/core/process-identity.ts";
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

it("waits for no ticket of another container, which may have been killed", async () => {
  const project = await projectWith();
  const locks = join(project.state, "datasets", "small.pack-lock");
  await mkdir(locks, { recursive: true });
  const ticket = { pid: process.pid, startTime: "1", bootId: await bootId(), pidNamespace: "1" };
  await writeFile(join(locks, "1-0.ticket"), JSON.stringify(ticket));
  const onWait = (): never => {
    throw new Error("it waits");
  };
  expect(await packDataset({ project, name: "small", onWait })).toMatchObject({ reused: false });
});

it("has its source brought while it is alone", async () => {
  const project = await projectWith();
  const order: string[] = [];
  const pack = async (name: string): Promise<unknown> =>
    packDataset({
      project,
      name: "small",
      prepare: async () => {
        order.push(`${name} begins`);
        await systemClock.sleep(50);
        order.push(`${name} ends`);
      },
    });
  await Promise.all([pack("a"), pack("a")]);
  expect(order).toEqual(["a begins", "a ends", "a begins", "a ends"]);
});

it("names an unknown data set before it waits for anybody", async () => {
  const project = await projectWith();
  await expect(packDataset({ project, name: "smal" })).rejects.toMatchObject({ code: "DATASET_UNKNOWN" });
});
