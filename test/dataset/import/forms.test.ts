import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ParquetSchema, ParquetWriter } from "parquetjs-lite";
import { describe, expect, it } from "vitest";
import { loadSpec, packDataset, packedFolder } from "../../../src/dataset/index.ts";
import { importCorpus } from "../../../src/dataset/import/import-corpus.ts";
import { openSource } from "../../../src/dataset/source/open-source.ts";
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

  it("tables at any depth, unless a manifest lies above them", async () => {
    const from = await projectWith();
    await packDataset({ project: from, name: "small" });
    const project = await projectOf({ format: "parquet" });
    const folder = join(project.datasets, "given");
    await cp(join(packedFolder(from, "small"), "data"), join(folder, "default", "train"), {
      recursive: true,
    });
    expect((await importCorpus({ project, folder, name: "mine" })).dialogues.train).toBe(18);
    await writeFile(join(folder, "a.jsonl"), "");
    await expect(importCorpus({ project, folder, name: "other" })).rejects.toMatchObject({
      message: expect.not.stringContaining("parquet"),
    });
  });

  it("a table that does not say how many turns it has: they are not counted", async () => {
    const project = await projectOf({ format: "parquet" });
    const writer = await ParquetWriter.openFile(
      new ParquetSchema({
        role_id: { type: "UTF8" },
        turns: {
          repeated: true,
          fields: {
            user_text: { type: "UTF8" },
            role_text: { type: "UTF8" },
            user_audio: { type: "BYTE_ARRAY" },
          },
        },
      }),
      join(project.datasets, "given", "a.parquet"),
    );
    for (let number = 0; number < 5; number++)
      await writer.appendRow({
        role_id: number === 3 ? "" : "thor",
        turns: [1, 2, 3].map(() => ({ user_text: "q", role_text: "Hello", user_audio: Buffer.from("x") })),
      });
    await writer.close();
    const report = await importCorpus({ project, folder: join(project.datasets, "given"), name: "mine" });
    expect(report).toMatchObject({
      dialogues: { train: 4, test: 0, unusable: 1 },
      turns: null,
      files: [{ file: "a.parquet", dialogues: 4, unusable: 1 }],
    });
    expect(report.defects).toMatchObject([{ code: "of_no_use", places: ["a.parquet row 3: no role_id"] }]);
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
    await expect(at("none/x.txt")).rejects.toMatchObject({
      code: "SOURCE_MISSING",
      message: expect.stringContaining("x.txt is a file, and neither a manifest nor a table"),
    });
    await expect(at("nowhere")).rejects.toMatchObject({
      message: expect.stringContaining("There is no file or folder "),
      hint: expect.stringContaining("source.format: hub"),
    });
  });

  it("a single manifest, with the roles that lie beside it", async () => {
    const line = JSON.stringify({
      role_id: "thor",
      turns: [{ user_text: "q", role_text: "a", user_audio: "a.wav" }],
    });
    const project = await projectOf({ format: "manifest" }, { "a.jsonl": line, "b.jsonl": "" });
    const options = { project, folder: join(project.datasets, "given", "a.jsonl") };
    const report = await importCorpus({ ...options, name: "mine" });
    expect(report.files).toEqual([{ file: "a.jsonl", dialogues: 1, unusable: 0 }]);
    const loaded = await loadSpec(project, "mine");
    expect(loaded.spec.source).toMatchObject({ path: "given/a.jsonl", roles: "given/roles.json" });
    expect((await openSource(loaded, project)).units).toEqual(["a.jsonl"]);
    await rm(join(project.datasets, "given", "roles.json"));
    await importCorpus({ ...options, name: "other" });
    expect((await openSource(await loadSpec(project, "other"), project)).roles).toHaveLength(1);
  });

  it("names the files of a manifest, what stands in two of them, and what is of no use", async () => {
    const record = (question: string, more: object = {}): string =>
      JSON.stringify({
        role_id: "thor",
        turns: [{ user_text: question, role_text: "a", user_audio: "a.wav" }],
        ...more,
      });
    const head = "dialogue_id,role_id,user_text,user_audio,role_text\n";
    const project = await projectOf(
      { format: "manifest" },
      {
        "a.csv": `${head}1,thor,One?,a.wav,a\n2,thor,Two?,a.wav,a\n3,thor,Three?,,a\n`,
        "b.jsonl": [
          record("four"),
          record(" TWO?"),
          record("five", { role_id: undefined, role: "thor" }),
          "{",
          record("six", { role_id: "loki", turns: [] }),
          record("four"),
        ].join("\n"),
      },
    );
    const report = await importCorpus({ project, folder: join(project.datasets, "given"), name: "mine" });
    expect(report.files).toEqual([
      { file: "a.csv", dialogues: 2, unusable: 1 },
      { file: "b.jsonl", dialogues: 3, unusable: 3 },
    ]);
    expect(report.dialogues).toEqual({ train: 5, test: 0, unusable: 4 });
    const places = new Map(report.defects.map(({ code, places: where }) => [code, where]));
    expect(places.get("in_two_files")).toEqual(["b.jsonl:2 (also in a.csv)"]);
    expect(places.get("of_no_use")).toEqual([
      'a.csv:4: no audio for the question "Three?"',
      "b.jsonl:3: no role_id; did you mean role_id instead of role?",
      expect.stringMatching(/^b\.jsonl:4: byte 1 of the dialogue "\{": /),
      "b.jsonl:5: turns is empty",
    ]);
  });

  it("a role of which nothing can be used is in the manifest: a pack stops at a role that it does not know", async () => {
    const line = (role: string, more: object): string =>
      JSON.stringify({
        role_id: role,
        turns: [{ user_text: "q", role_text: "a", user_audio: "a.wav", ...more }],
      });
    const given = await projectOf(
      { format: "manifest" },
      { "a.jsonl": `${line("thor", {})}\n${line("loki", { role_text: "" })}` },
    );
    await rm(join(given.datasets, "given", "roles.json"));
    const report = await importCorpus({
      project: given,
      folder: join(given.datasets, "given"),
      name: "mine",
    });
    expect(report.roles.map(({ stem }) => stem)).toEqual(["loki", "thor"]);
  });

  it("says of dialogues without any audio that they have none yet", async () => {
    const spoken = [{ dialogue: [{ user: "q", role: "a" }] }];
    const project = await projectOf(
      { format: "manifest" },
      {
        "flat/Thor.json": JSON.stringify(spoken),
        "flat/report.json": "{}",
        "tree/train/single/Thor.json": JSON.stringify(spoken),
        "lines/a.jsonl": JSON.stringify({ role_id: "thor", turns: [{ user_text: "q", role_text: "a" }] }),
        "none/a.jsonl": "{}",
      },
    );
    const at = (folder: string): Promise<unknown> =>
      importCorpus({ project, folder: join(project.datasets, "given", folder), name: "mine" });
    for (const folder of ["flat", "tree", "lines"])
      await expect(at(folder), folder).rejects.toMatchObject({
        code: "SOURCE_SILENT",
        message: expect.stringContaining("these dialogues have no audio yet"),
        hint: expect.stringContaining("synthesize"),
      });
    await expect(at("none")).rejects.toMatchObject({
      code: "SOURCE_MISSING",
      message: expect.stringMatching(
        /holds no dialogue that can be used: 1 are of no use, the first is a\.jsonl:1: no role_id$/,
      ),
    });
  });
});
