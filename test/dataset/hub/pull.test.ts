import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exists } from "../../../src/core/files.ts";
import { projectAt, type Project } from "../../../src/core/project.ts";
import { readHubPin } from "../../../src/dataset/hub/hub-pin.ts";
import { lockDigest, lockFile, packedFolder, readLock, verifyDataset } from "../../../src/dataset/index.ts";
import { HUB_TOKEN, type FakeHub } from "../../support/fake-hub/fake-hub.ts";
import type { FaultRule } from "../../support/fake-hub/faults.ts";
import { addCommit, pointerTo, putLarge, putSmall } from "../../support/fake-hub/repository.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { allText, fakeHub, packShards, projectOf, pull, push, repositoryOf, shardBytes } from "./support.ts";

const LARGE = "data/train-00000-of-00002.parquet";
const shards = { train: [shardBytes("a", 90_000), shardBytes("b")], test: [shardBytes("c")] };

const published = async (): Promise<{ hub: FakeHub; source: Project; project: Project }> => {
  const [hub, source] = [await fakeHub(), await projectOf(shards)];
  await push(hub, source);
  hub.requests.length = 0;
  return { hub, source, project: projectAt((await temporaryProject()).root) };
};
const downloadsOf = (hub: FakeHub): string[] => hub.requests.filter((line) => line.startsWith("storage GET"));

describe("a pull", () => {
  it("brings the data set with a byte-identical lock, and pins the commit", async () => {
    const { hub, source, project } = await published();
    const result = await pull(hub, project);
    expect(result).toMatchObject({ name: "voices", downloaded: 3, reused: 0 });
    expect(await readFile(lockFile(project, "voices"))).toEqual(await readFile(lockFile(source, "voices")));
    expect(lockDigest(await verifyDataset(project, "voices"))).toBe(
      lockDigest(await readLock(source, "voices")),
    );
    const pin = await readHubPin(project, "voices");
    expect(pin).toEqual(await readHubPin(source, "voices"));
    expect(pin?.revision).toBe(repositoryOf(hub).branches.get("main"));
    expect(await readdir(join(project.datasets, "packed"))).toEqual(["voices"]);
    expect(await allText(project.root)).not.toContain(HUB_TOKEN.slice(3));
  });

  it("fetches nothing the second time, and only what is missing after a loss", async () => {
    const { hub, project } = await published();
    await pull(hub, project);
    expect(await pull(hub, project)).toMatchObject({ downloaded: 0, reused: 3 });
    expect(downloadsOf(hub)).toHaveLength(3);
    await rm(join(packedFolder(project, "voices"), "data/train-00001-of-00002.parquet"));
    await writeFile(
      join(packedFolder(project, "voices"), "data/test-00000-of-00001.parquet"),
      shardBytes("x"),
    );
    expect(await pull(hub, project)).toMatchObject({ downloaded: 2, reused: 1 });
    await verifyDataset(project, "voices");
  });

  it("takes every file from the commit that the branch stood for in the beginning", async () => {
    const { hub, project } = await published();
    const first = repositoryOf(hub).branches.get("main");
    const change = async (): Promise<void> => {
      putLarge(repositoryOf(hub), LARGE, shardBytes("newer", 90_000));
    };
    hub.faults.add({ on: "/revision/main", misdeed: { kind: "call", after: change } });
    expect((await pull(hub, project)).revision).toBe(first);
    await verifyDataset(project, "voices");
  });

  it("brings an older commit, and the newer one after it", async () => {
    const { hub, source, project } = await published();
    const old = repositoryOf(hub).branches.get("main") ?? "";
    await packShards(source, { train: [shardBytes("a", 90_000)], test: [shardBytes("c")] });
    await push(hub, source);
    await pull(hub, project, { revision: old });
    expect((await readHubPin(project, "voices"))?.branch).toBeNull();
    expect(await pull(hub, project)).toMatchObject({ downloaded: 1, reused: 1 });
    expect(await verifyDataset(project, "voices")).toEqual(await readLock(source, "voices"));
  });

  it("gives it another name", async () => {
    const { hub, project } = await published();
    await pull(hub, project, { as: "voices-of-may" });
    expect((await verifyDataset(project, "voices-of-may")).name).toBe("voices-of-may");
    expect(await pull(hub, project, { as: "voices-of-may" })).toMatchObject({ downloaded: 0 });
  });

  it("lists a repository of several pages", async () => {
    const { hub, project } = await published();
    Object.assign(hub.state, { pageSize: 2, relativeLinks: true });
    await pull(hub, project);
    expect(hub.requests.filter((line) => line.includes("cursor="))).toHaveLength(3);
  });

  it("lets two processes at once take turns", async () => {
    const { hub, project } = await published();
    const { systemClock: clock } = await import("../../../src/core/clock.ts");
    const both = await Promise.all([pull(hub, project, { clock }), pull(hub, project, { clock })]);
    expect(both.map(({ downloaded }) => downloaded).toSorted((a, b) => a - b)).toEqual([0, 3]);
    await verifyDataset(project, "voices");
  });
});

const MISDEEDS: readonly (readonly [string, FaultRule["misdeed"], number])[] = [
  ["429", { kind: "answer", answer: { status: 429, headers: { "retry-after": "3" } } }, 4],
  ["503", { kind: "answer", answer: { status: 503 } }, 4],
  ["a reset", { kind: "reset" }, 4],
  ["a body cut in its middle", { kind: "cut", after: 50_000 }, 4],
  ["the right number of wrong bytes, once", { kind: "wrong-bytes" }, 4],
  ["a trickle", { kind: "trickle", milliseconds: 15 }, 4],
  ["silence", { kind: "hang" }, 4],
];

describe("a download that meets", () => {
  it.each(MISDEEDS)("%s ends right", async (name, misdeed, requests) => {
    const { hub, project } = await published();
    const sha256 = (await readLockOf(hub)).splits.train.shards[0]?.sha256 ?? "";
    hub.faults.add({ on: `storage GET /download/tester/voices/${sha256}`, misdeed });
    await pull(hub, project, { policy: { stallMs: 400 } });
    expect(hub.faults.left()).toBe(0);
    await verifyDataset(project, "voices");
    expect(downloadsOf(hub), name).toHaveLength(requests);
  });

  it("a cut goes on where it was cut", async () => {
    const { hub, project } = await published();
    hub.faults.add({ on: "storage GET", times: 3, misdeed: { kind: "cut", after: 30_000 } });
    let most = 0;
    await pull(hub, project, {
      onProgress: (progress) => {
        if (progress.phase === "download") most = Math.max(most, progress.bytes);
      },
    });
    await verifyDataset(project, "voices");
    expect(most).toBe(90_600);
  });

  it("wrong bytes again and again names the file, and keeps the rest", async () => {
    const { hub, project } = await published();
    const sha256 = (await readLockOf(hub)).splits.train.shards[0]?.sha256 ?? "";
    hub.faults.add({ on: sha256, times: 2, misdeed: { kind: "wrong-bytes" } });
    const error: unknown = await pull(hub, project).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "DOWNLOAD_FAILED",
      actor: "remote",
      message: expect.stringContaining(LARGE),
    });
    expect(await exists(lockFile(project, "voices"))).toBe(false);
    const before = downloadsOf(hub).length;
    await pull(hub, project);
    expect(downloadsOf(hub)).toHaveLength(before + 1);
    await verifyDataset(project, "voices");
  });
});

describe("a pull is refused", () => {
  it("when the repository has no lock of ours", async () => {
    const { hub, project } = await published();
    putLarge(hub.repository("tester/others"), LARGE, shardBytes("theirs"));
    await expect(pull(hub, project, { repo: "tester/others" })).rejects.toMatchObject({
      code: "REPO_HAS_NO_LOCK",
    });
  });

  it("when its files are not what its lock says", async () => {
    const { hub, project } = await published();
    putLarge(repositoryOf(hub), LARGE, shardBytes("another", 90_000));
    await expect(pull(hub, project)).rejects.toMatchObject({
      code: "REPO_INCONSISTENT",
      message: expect.stringContaining(LARGE),
    });
    expect(downloadsOf(hub)).toEqual([]);
  });

  it.each(["../escape.txt", "data/../../escape.txt", "/absolute.txt", "data//x", "a\\..\\b"])(
    "when it has a file at %s",
    async (path) => {
      const { hub, project } = await published();
      const repository = repositoryOf(hub);
      putSmall(repository, "understudy.lock.json", "{}");
      addCommit(repository, { branch: "main", title: "trap" }, (files) => {
        const shard = files.get(LARGE);
        if (shard?.lfs) files.set(path, pointerTo(repository, shard.lfs));
      });
      await expect(pull(hub, project)).rejects.toMatchObject({ code: "PATH_OUTSIDE" });
    },
  );

  it("when it would write over another data set", async () => {
    const { hub } = await published();
    const project = await projectOf({ train: [shardBytes("mine")] });
    await expect(pull(hub, project)).rejects.toMatchObject({ code: "DATASET_EXISTS" });
    await verifyDataset(project, "voices");
    await rm(lockFile(project, "voices"));
    await expect(pull(hub, project)).rejects.toMatchObject({ code: "DATASET_EXISTS" });
  });

  it("when the disk has no room for it", async () => {
    const { hub, project } = await published();
    const repository = repositoryOf(hub);
    const lock = await readLockOf(hub);
    const shard = lock.splits.train.shards[0];
    if (shard) shard.bytes = 10 ** 15;
    putSmall(repository, "understudy.lock.json", JSON.stringify(lock));
    addCommit(repository, { branch: "main", title: "huge" }, (files) => {
      const file = files.get(LARGE);
      if (file) files.set(LARGE, { ...file, size: 10 ** 15, gitOid: "huge" });
    });
    await expect(pull(hub, project)).rejects.toMatchObject({ code: "DISK_SPACE", actor: "preflight" });
    expect(downloadsOf(hub)).toEqual([]);
  });

  it("without the right to read it", async () => {
    const { hub, project } = await published();
    const error = { code: "HUB_STATUS", hint: expect.stringContaining("HF_TOKEN") };
    await expect(pull(hub, project, { token: undefined })).rejects.toMatchObject(error);
    await expect(pull(hub, project, { revision: "v9" })).rejects.toMatchObject({
      hint: expect.stringContaining("--revision"),
    });
  });
});

async function readLockOf(hub: FakeHub): ReturnType<typeof readLock> {
  const repository = repositoryOf(hub);
  const file = repository.commits
    .get(repository.branches.get("main") ?? "")
    ?.files.get("understudy.lock.json");
  return JSON.parse(String(repository.blobs.get(file?.gitOid ?? "")));
}
