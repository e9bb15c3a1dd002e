import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSpec, packDataset, packedFolder } from "../../../src/dataset/index.ts";
import { importCorpus } from "../../../src/dataset/import/import-corpus.ts";
import { projectWith } from "../corpus.ts";
import { projectOf } from "../source/support.ts";

describe("importing other forms", () => {
  it("a manifest: slugs are unique and do not depend on order, languages come from the answers", async () => {
    const record = (role: string, answer: string, count = 1): string =>
      JSON.stringify({
        role_id: role,
        turns: Array.from({ length: count }, () => ({
          user_text: "q",
          role_text: answer,
          user_audio: "a.wav",
        })),
      });
    const lines = [
      record("A b", "Hello there"),
      record("A.B", "Hello again", 2),
      record("金葫芦", "你好，我是金葫芦。"),
      "{",
    ];
    const given = await projectOf({ format: "manifest" }, { "a.jsonl": lines.join("\n") });
    await rm(join(given.datasets, "given", "roles.json"));
    const options = { project: given, folder: join(given.datasets, "given"), name: "mine" };
    const report = await importCorpus(options);
    expect(report).toMatchObject({
      format: "manifest",
      dialogues: { train: 3, test: 0, unusable: 1 },
      turns: 4,
      languages: { en: 2, zh: 1 },
    });
    const slugs = report.roles.map(({ slug }) => slug);
    expect(slugs).toEqual([
      expect.stringMatching(/^a_b_[0-9a-f]{6}$/),
      expect.stringMatching(/^a_b_[0-9a-f]{6}$/),
      expect.stringMatching(/^role_[0-9a-f]{6}$/),
    ]);
    expect(new Set(slugs).size).toBe(3);
    await writeFile(join(given.datasets, "given", "a.jsonl"), lines.toReversed().join("\n"));
    expect((await importCorpus({ ...options, force: true })).roles).toEqual(report.roles);
  });

  it("our own shards: names, languages and slugs come from the rows", async () => {
    const from = await projectWith();
    await packDataset({ project: from, name: "small" });
    const project = await projectOf({ format: "parquet" });
    const report = await importCorpus({
      project,
      folder: join(packedFolder(from, "small"), "data"),
      name: "mine",
    });
    expect(report).toMatchObject({
      format: "parquet",
      dialogues: { train: 18, test: 12, unusable: 0 },
      turns: 42,
    });
    expect(report.roles.map(({ slug, displayName, language }) => [slug, displayName, language])).toEqual([
      ["hutao", "胡桃", "zh"],
      ["prof_dorr", "Professor Dorr", "en"],
      ["thor", "Thor", "en"],
    ]);
    const { source } = (await loadSpec(project, "mine")).spec;
    // Outside the project nothing is relative to it.
    expect("path" in source && source.path).toBe(join(packedFolder(from, "small"), "data"));
  });

  it("refuses completions and a folder of several forms, by name", async () => {
    const project = await projectOf(
      { format: "manifest" },
      { "raw/Thor/0_0.json": "[]", "two/a.jsonl": "{}", "two/b.parquet": "x", "none/x.txt": "" },
    );
    const at = (folder: string): Promise<unknown> =>
      importCorpus({ project, folder: join(project.datasets, "given", folder), name: "mine" });
    await expect(at("raw")).rejects.toMatchObject({ code: "SOURCE_RAW" });
    await expect(at("two")).rejects.toMatchObject({
      code: "SOURCE_AMBIGUOUS",
      message: expect.stringContaining("manifest and parquet"),
    });
    await expect(at("none")).rejects.toMatchObject({ code: "SOURCE_MISSING" });
  });
});
