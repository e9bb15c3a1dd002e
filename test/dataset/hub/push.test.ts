import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readHubPin } from "../../../src/dataset/hub/hub-pin.ts";
import type { HubProgress } from "../../../src/dataset/hub/hub-progress.ts";
import { packedFolder } from "../../../src/dataset/index.ts";
import { HUB_TOKEN } from "../../support/fake-hub/fake-hub.ts";
import { commitAt, putLarge, putSmall } from "../../support/fake-hub/repository.ts";
import {
  allText,
  commitsOf,
  expectPushed,
  fakeHub,
  packShards,
  projectOf,
  push,
  putsOf,
  repositoryOf,
  shardBytes,
  treeOf,
} from "./support.ts";

const three = { train: [shardBytes("a"), shardBytes("b")], test: [shardBytes("c")] };

describe("a push", () => {
  it("makes a private repository with shards, lock and card in one commit, and pins it", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const result = await push(hub, project);
    await expectPushed(hub, project);
    const repository = repositoryOf(hub);
    expect(repository.isPrivate).toBe(true);
    expect(commitsOf(hub)).toHaveLength(1);
    expect(result).toMatchObject({
      created: true,
      commits: 1,
      unchanged: 0,
      deleted: [],
      visibility: "private",
    });
    expect(result.revision).toBe(repository.branches.get("main"));
    expect(await readHubPin(project, "voices")).toMatchObject({
      repo: "tester/voices",
      revision: result.revision,
    });
    expect(await allText(project.root)).not.toContain(HUB_TOKEN.slice(3));
  });

  it("sends nothing the second time", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const first = await push(hub, project);
    const before = [putsOf(hub).length, commitsOf(hub).length];
    const second = await push(hub, project);
    expect([putsOf(hub).length, commitsOf(hub).length]).toEqual(before);
    expect(second).toMatchObject({
      revision: first.revision,
      uploaded: [],
      commits: 0,
      unchanged: 5,
      created: false,
    });
  });

  it("sends one shard when one has changed", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    await push(hub, project);
    const puts = putsOf(hub).length;
    await packShards(project, { ...three, test: [shardBytes("d")] });
    const { uploaded } = await push(hub, project);
    expect(putsOf(hub).length - puts).toBe(1);
    expect(uploaded).toEqual(["data/test-00000-of-00001.parquet", "understudy.lock.json"]);
    await expectPushed(hub, project);
  });

  it("deletes the shards of an older push, in its last commit, and nothing else", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    await push(hub, project);
    putSmall(repositoryOf(hub), "notes/关于.md", "mine");
    await packShards(project, { train: [shardBytes("a")], test: [shardBytes("c")] });
    const { deleted, revision } = await push(hub, project);
    expect(deleted).toEqual(["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"]);
    expect(commitAt(repositoryOf(hub), revision ?? "")?.deleted).toEqual(deleted);
    expect(Object.keys(treeOf(hub)).filter((path) => path.startsWith("data/"))).toHaveLength(2);
    expect(treeOf(hub)["notes/关于.md"]).toBe("mine");
    // The first shard's content is at the Hub already, under its older name.
    expect(putsOf(hub)).toHaveLength(3);
  });

  it("splits 120 shards into commits of at most 50 files, the card in the last", async () => {
    const hub = await fakeHub();
    hub.state.pageSize = 7;
    hub.state.relativeLinks = true;
    const project = await projectOf({
      train: Array.from({ length: 120 }, (_, index) => shardBytes(`t${index}`)),
    });
    const { revision, commits } = await push(hub, project);
    expect(commits).toBe(3);
    const repository = repositoryOf(hub);
    const last = commitAt(repository, revision ?? "");
    expect(last?.changed).toContain("README.md");
    expect(last?.changed).toHaveLength(22);
    await expectPushed(hub, project);
  });

  it("sends large shards in parts, and tells the bytes", async () => {
    const hub = await fakeHub();
    hub.state.multipartAbove = 1000;
    hub.state.partBytes = 700;
    const project = await projectOf({ train: [shardBytes("large", 3000)] });
    const seen: HubProgress[] = [];
    const { uploadBytes } = await push(hub, project, { onProgress: (progress) => seen.push(progress) });
    expect(putsOf(hub)).toHaveLength(5);
    await expectPushed(hub, project);
    const uploads = seen.flatMap((progress) => (progress.phase === "upload" ? [progress] : []));
    expect(Math.max(...uploads.map(({ bytes }) => bytes))).toBe(3000);
    expect(uploads.at(-1)?.totalBytes).toBe(uploadBytes);
  });

  it("pushes to a branch of its own", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    await push(hub, project, { branch: "trial/五" });
    await expectPushed(hub, project, "trial/五");
    expect(Object.keys(treeOf(hub, "main"))).toEqual([".gitattributes"]);
  });

  it("says what it would do in a dry run, and does nothing", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const result = await push(hub, project, { dryRun: true });
    expect(result).toMatchObject({
      created: true,
      revision: null,
      commits: 1,
      uploadBytes: expect.any(Number),
    });
    expect(result.uploaded).toHaveLength(5);
    expect(hub.state.repositories.size).toBe(0);
    expect(hub.requests.filter((line) => !line.startsWith("GET"))).toEqual([]);
    expect(await readHubPin(project, "voices")).toBeUndefined();
  });
});

describe("a push is refused", () => {
  it("when a shard is not what the lock says, before anything is sent", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const path = "data/train-00001-of-00002.parquet";
    await writeFile(join(packedFolder(project, "voices"), path), shardBytes("other"));
    await expect(push(hub, project)).rejects.toMatchObject({
      code: "SHARD_CHANGED",
      message: expect.stringContaining(path),
    });
    expect(hub.requests).toEqual([]);
  });

  it("when the lock names what is no shard, such as a reference clip", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const lock = await packShards(project, three);
    const clip = { path: "data/references/thor.wav", bytes: 1, sha256: "0".repeat(64), rows: 0 };
    lock.splits.train.shards.push(clip);
    await writeFile(join(project.datasets, "voices.lock.json"), JSON.stringify(lock));
    await expect(push(hub, project)).rejects.toMatchObject({
      code: "PUSH_REFUSED",
      message: expect.stringContaining(clip.path),
    });
    expect(hub.requests).toEqual([]);
  });

  it("never sends what else lies in the folder", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    await writeFile(join(packedFolder(project, "voices"), "data", "reference.wav"), "voice");
    await push(hub, project);
    await expectPushed(hub, project);
  });

  it("into a public repository, unless that is meant", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    hub.repository("tester/voices", { isPrivate: false });
    await expect(push(hub, project)).rejects.toMatchObject({ code: "REPO_PUBLIC", actor: "preflight" });
    expect(commitsOf(hub)).toEqual([]);
    expect(await push(hub, project, { private: false })).toMatchObject({
      visibility: "public",
      created: false,
    });
  });

  it("where other people's shards would be lost, unless that is meant", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const path = "data/train-00000-of-00009.parquet";
    putLarge(hub.repository("tester/voices"), path, shardBytes("theirs"));
    const refused = expect.stringContaining(path);
    await expect(push(hub, project)).rejects.toMatchObject({ code: "REPO_NOT_OURS", message: refused });
    expect(treeOf(hub)[path]).toBeDefined();
    expect(await push(hub, project, { replace: true })).toMatchObject({ deleted: [path] });
    await expectPushed(hub, project);
  });

  it.each([
    [undefined, "HF_TOKEN_MISSING"],
    ["secret-without-prefix", "HF_TOKEN_INVALID"],
    ["hf_wrongButLongEnough", "HUB_STATUS"],
  ])("with the token %s", async (token, code) => {
    const [hub, project] = [await fakeHub(), await projectOf(three)];
    const error: unknown = await push(hub, project, { token }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code,
      hint: expect.stringContaining(token === "secret-without-prefix" ? "http" : "HF_TOKEN"),
    });
    expect(`${String(error)} ${await allText(project.root)}`).not.toContain(token ?? "never");
  });
});
