import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { downloadRepository } from "../../../src/dataset/hub/download-repository.ts";
import { listFiles } from "../../../src/dataset/hub/hub-calls.ts";
import { commitBatch } from "../../../src/dataset/hub/push-commit.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { gitBlobOid } from "../../../src/dataset/hub/remote-file.ts";
import { HUB_TOKEN } from "../../support/fake-hub/fake-hub.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { fakeHub, impatientClock, treeOf } from "./support.ts";

const NAMES = [
  "data/声音 #1?.parquet",
  "data/100%.parquet",
  "data/%E5%A3%B0.parquet",
  "data/a&b=c+d;e,f@g.parquet",
  "role voices/Prof. G.H. Dorr's [take 2].wav",
  "e\u0301 and \u00e9.txt",
  "empty",
];

describe("a repository with odd names", () => {
  it("survives both ways", async () => {
    const hub = await fakeHub();
    const { branches } = hub.repository("tester/voices");
    const clock = impatientClock();
    const world = { hubUrl: hub.url, token: HUB_TOKEN, fetch: globalThis.fetch, clock };
    const files = NAMES.map((path) => {
      const bytes = new TextEncoder().encode(path === "empty" ? "" : `content of ${path}`);
      const content = new Blob([bytes]);
      return { path, bytes: content.size, sha256: sha256(bytes), gitOid: gitBlobOid(bytes), content };
    });
    const target = { repo: "tester/voices", branch: "main", title: "odd" };
    await commitBatch(world, target, { batch: { files, deletions: [] }, parent: branches.get("main") ?? "" });
    expect(Object.keys(treeOf(hub)).toSorted()).toEqual([".gitattributes", ...NAMES].toSorted());
    const folder = join((await temporaryProject()).root, "download");
    const access = { token: HUB_TOKEN, endpoint: hub.url, fetch: globalThis.fetch, clock };
    const down = {
      ...access,
      repo: "datasets/tester/voices",
      folder,
      include: (path: string) => path !== ".gitattributes",
    };
    const { revision, files: came } = await downloadRepository(down);
    expect(revision).toBe(branches.get("main"));
    expect(came.map(({ path }) => path).toSorted()).toEqual(NAMES.toSorted());
    for (const { path, content } of files)
      expect(await readFile(join(folder, path), "utf8")).toBe(await content.text());
    const before = hub.requests.length;
    await downloadRepository(down);
    expect(hub.requests.slice(before).every((line) => line.includes("/api/"))).toBe(true);
    expect((await readdir(folder)).toSorted()).toEqual(
      [".understudy-download", "data", "empty", "e\u0301 and \u00e9.txt", "role voices"].toSorted(),
    );
    expect(await listFiles(world, "tester/voices", revision)).toHaveLength(NAMES.length + 1);
  });

  it.each(["voices", "a/b/c", "../x/y", "a/..", "a b/c", "-a/b", ""])(
    "refuses the repository %j",
    async (repo) => {
      const access = { token: undefined, fetch: globalThis.fetch, folder: "/nowhere" };
      await expect(downloadRepository({ ...access, repo })).rejects.toMatchObject({ code: "REPO_INVALID" });
    },
  );
});
