import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectAt, type Project } from "../../../src/core/project.ts";
import { packedFolder, readLock, verifyDataset } from "../../../src/dataset/index.ts";
import type { FakeHub } from "../../support/fake-hub/fake-hub.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { compiled, killedAt, memoryOf, removeCompiled } from "./child.ts";
import {
  expectPushed,
  fakeHub,
  packShards,
  projectOf,
  pull,
  push,
  putsOf,
  repositoryOf,
  shardBytes,
} from "./support.ts";

let folder = "";
beforeAll(async () => {
  folder = await compiled();
});
afterAll(async () => removeCompiled(folder));

const shards = { train: [shardBytes("a"), shardBytes("large", 2500)], test: [shardBytes("c")] };

// An older push is there, so that shards are replaced and deleted as well as added.
const scene = async (): Promise<{ hub: FakeHub; project: Project }> => {
  const hub = await fakeHub();
  Object.assign(hub.state, { multipartAbove: 1000, partBytes: 1300 });
  const project = await projectOf({
    train: [shardBytes("old")],
    dev: [shardBytes("gone")],
    test: [shardBytes("c")],
  });
  await push(hub, project);
  await packShards(project, shards);
  hub.requests.length = 0;
  return { hub, project };
};

// A process each, on a machine that does other things as well.
const LONG = 180_000;

describe("a push that is killed", () => {
  it(
    "before or after any kind of its requests ends with exactly the right files when it is run again",
    { timeout: LONG },
    async () => {
      const clean = await scene();
      await push(clean.hub, clean.project);
      expect(clean.hub.requests.length).toBeGreaterThan(10);
      const puts = putsOf(clean.hub).length;
      const steps = new Map<string, number>();
      for (const [request, line] of clean.hub.requests.entries()) {
        const step = line.replaceAll(/[0-9a-f]{40,}/g, "ID").replace(/\/\d+\?/, "/PART?");
        if (!steps.has(step)) steps.set(step, request);
      }
      for (const [line, request] of steps) {
        // A request that changes nothing leaves the same state behind, done or not.
        const changes = /PUT|\/complete|\/commit\//.test(line);
        for (const when of changes ? (["before", "after"] as const) : (["before"] as const)) {
          const { hub, project } = await scene();
          const where = `${when} ${line}`;
          expect(await killedAt({ folder, hub, project }, "push", { request, when }), where).toBe("SIGKILL");
          const done = await push(hub, project);
          await expectPushed(hub, project);
          const repository = repositoryOf(hub);
          expect([...repository.branches], where).toEqual([["main", done.revision]]);
          // One commit, whether the killed process made it or the second one.
          expect(repository.commits.size, where).toBe(3);
          // What had arrived is not sent again; a killed process has up to four on their way.
          expect(putsOf(hub).length, where).toBeLessThanOrEqual(puts + 4);
          expect((await push(hub, project)).commits, where).toBe(0);
        }
      }
    },
  );

  it("while a line of its journal was written goes on", async () => {
    const { hub, project } = await scene();
    const state = join(project.state, "datasets", "hub");
    const journal = (await readdir(state)).find((name) => name.endsWith(".push.jsonl")) ?? "";
    const { appendFile, readFile } = await import("node:fs/promises");
    await appendFile(join(state, journal), '{"at":"2026-05-01T00:00:00.000Z","event":"commi');
    await push(hub, project);
    await push(hub, project);
    await expectPushed(hub, project);
    for (const line of (await readFile(join(state, journal), "utf8")).trim().split("\n"))
      expect(JSON.parse(line)).toHaveProperty("event");
  });
});

describe("a pull that is killed", () => {
  it("at any of its requests ends right when it is run again", { timeout: LONG }, async () => {
    const hub = await fakeHub();
    await push(hub, await projectOf(shards));
    const empty = async (): Promise<Project> => projectAt((await temporaryProject()).root);
    hub.requests.length = 0;
    await pull(hub, await empty());
    const requests = hub.requests.length;
    for (let request = 0; request < requests; request++) {
      const project = await empty();
      expect(await killedAt({ folder, hub, project }, "pull", { request, when: "before" })).toBe("SIGKILL");
      const { revision } = await pull(hub, project);
      expect(revision).toBe(repositoryOf(hub).branches.get("main"));
      await verifyDataset(project, "voices");
      expect((await readdir(join(project.datasets, "packed"))).toSorted()).toEqual(["voices"]);
    }
  });

  it("while it moves shards to their place goes on", async () => {
    const hub = await fakeHub();
    const source = await projectOf(shards);
    await push(hub, source);
    const project = projectAt((await temporaryProject()).root);
    const last = (await readLock(source, "voices")).splits.test.shards[0];
    hub.faults.add({
      on: last?.sha256 ?? "",
      times: 99,
      misdeed: { kind: "answer", answer: { status: 404 } },
    });
    await expect(pull(hub, project)).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    const staging = join(project.datasets, "packed", ".pull-voices");
    const staged = (await readdir(staging)).filter((name) => !name.endsWith(".part"));
    expect(staged).toHaveLength(2);
    await mkdir(join(packedFolder(project, "voices"), "data"), { recursive: true });
    await rename(
      join(staging, staged[0] ?? ""),
      join(packedFolder(project, "voices"), "data", "train-00000-of-00002.parquet"),
    );
    const hubAgain = await fakeHub();
    await push(hubAgain, source);
    expect((await pull(hubAgain, project)).downloaded).toBeGreaterThan(0);
    await verifyDataset(project, "voices");
  });
});

describe("a data set that is larger than the memory it may take", () => {
  it("is pushed without being held in memory", { timeout: LONG }, async () => {
    const hub = await fakeHub();
    const large = Array.from({ length: 3 }, (_, index) => shardBytes(`large ${index}`, 60_000_000));
    const project = await projectOf({ train: large });
    // The program alone takes about 110; a copy of what is sent would add 180.
    expect(await memoryOf({ folder, hub, project })).toBeLessThan(230);
  });
});
