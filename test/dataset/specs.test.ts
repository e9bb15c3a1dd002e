import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { projectAt } from "../../src/core/project.ts";
import {
  loadSpec,
  lockDigest,
  openDataset,
  packDataset,
  readLock,
  specNames,
} from "../../src/dataset/index.ts";
import { makeProject, projectWith } from "./corpus.ts";

const repository = projectAt(resolve(import.meta.dirname, "../.."));

describe("loadSpec", () => {
  it("fills in defaults, and its digest does not change with comments", async () => {
    const project = await projectWith();
    const first = await loadSpec(project, "small");
    expect(first.spec.shards).toEqual({ rowGroupBytes: 32_000_000, shardBytes: 500_000_000, footer: "list" });
    expect(first.sourceFolder).toBe(join(project.datasets, "small"));
    await writeFile(first.file, `# a comment\n${await readFile(first.file, "utf8")}`);
    expect((await loadSpec(project, "small")).digest).toBe(first.digest);
  });

  it("says where a spec is wrong", async () => {
    const project = await projectWith((corpus) => (corpus.spec["seed"] = 1));
    await expect(loadSpec(project, "small")).rejects.toThrow(/small\.yaml:1:\d+ seed: unknown key/);
  });

  it("refuses another name, a backend named twice, and a name that is a path", async () => {
    const renamed = await projectWith((corpus) => (corpus.spec["name"] = "large"));
    await expect(loadSpec(renamed, "small")).rejects.toMatchObject({ code: "SPEC_INVALID" });
    const twice = await projectWith((corpus) =>
      Object.assign(corpus.spec["source"] ?? {}, {
        references: { "1": "f5_tts", "2": "f5_tts", "3": "e2_tts" },
      }),
    );
    await expect(loadSpec(twice, "small")).rejects.toMatchObject({ code: "SPEC_INVALID" });
    await expect(loadSpec(twice, "../small")).rejects.toMatchObject({ code: "DATASET_UNKNOWN" });
  });
});

describe("the data sets of this repository", () => {
  it("are found", async () => {
    expect(await specNames(repository)).toEqual(expect.arrayContaining(["greenroom", "speechrole-data"]));
  });

  it("speechrole-data names 20 held-out roles and the published counts", async () => {
    const { spec } = await loadSpec(repository, "speechrole-data");
    expect(new Set(spec.splits.by === "spec" ? spec.splits.heldOutRoles : []).size).toBe(20);
    expect(spec.expected).toMatchObject({ roles: 98, heldOutRoles: 20, testSessions: 392 });
  });

  it("greenroom packs to the lock that is committed", async () => {
    const project = await makeProject();
    await cp(join(repository.datasets, "greenroom.yaml"), join(project.datasets, "greenroom.yaml"));
    await symlink(join(repository.datasets, "greenroom"), join(project.datasets, "greenroom"));
    const committed = await readLock(repository, "greenroom");
    const { lock } = await packDataset({ project, name: "greenroom" });
    expect(lockDigest(lock)).toBe(lockDigest(committed));
    const dataset = await openDataset(project, "greenroom");
    expect(Object.values(dataset.lock.splits).map(({ rows }) => rows)).toEqual([64, 16, 40, 64]);
    await dataset.close();
  });
});
