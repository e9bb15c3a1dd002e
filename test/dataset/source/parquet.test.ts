import { copyFile, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ParquetSchema, ParquetWriter } from "parquetjs-lite";
import { describe, expect, it } from "vitest";
import type { Project } from "../../../src/core/project.ts";
import { openDataset, packDataset, packedFolder } from "../../../src/dataset/index.ts";
import { testPython } from "../../support/python.ts";
import { projectWith, toneClip } from "../corpus.ts";
import { runPython } from "../judging.ts";
import { draftOf, openGiven, projectOf, put, readAll, ROLES } from "./support.ts";

const SOURCE = { format: "parquet" };
const python = testPython() ?? "";
const CLIP = toneClip(1);

const expected = Array.from({ length: 30 }, (_, number) => ({
  category: null,
  context: null,
  systemPrompt: `prompt ${number}`,
  promptFromProfile: false,
  turns: Array.from({ length: 1 + (number % 3) }, (_turn, turn) => ({
    userText: `question ${number}.${turn} 胡`,
    roleText: `answer ${number}.${turn}`,
    user: { kind: "bytes", bytes: CLIP },
    role: { cosyvoice2: null, f5_tts: turn === 0 ? { kind: "bytes", bytes: CLIP } : null, e2_tts: null },
  })),
}));

describe.skipIf(python === "")("Parquet that Python wrote is read, row by row too", () => {
  it("in every form: datasets, lists, pages, row groups, codecs, dicts of lists", async () => {
    const project = await projectOf(SOURCE, { "clip.wav": CLIP });
    const folder = join(project.datasets, "given");
    const { exitCode, stderr } = await runPython(python, folder, [
      resolve(import.meta.dirname, "tables.py"),
      folder,
    ]);
    expect(exitCode, stderr).toBe(0);
    const source = await openGiven(project);
    const names = "brotli dict groups gzip indexed list old-lists plain zstd zstdless".split(" ");
    expect(source.units).toEqual(names.map((name) => `${name}/train.parquet`));
    const { found, again } = await readAll(source);
    for (const [index, name] of names.entries()) {
      const part = found.slice(index * 30, index * 30 + 30);
      expect(part.map(draftOf), name).toEqual(expected);
      expect(
        part.map(({ kind }) => kind),
        name,
      ).toEqual(expected.map(({ turns }) => (turns.length === 1 ? "single" : "multi")));
    }
    expect(again).toEqual(found.map(draftOf));
  }, 60_000);
});

describe("Parquet that parquetjs-lite wrote", () => {
  const schema = (): ParquetSchema =>
    new ParquetSchema({
      role_id: { type: "UTF8" },
      context: { type: "UTF8", optional: true },
      turns: {
        repeated: true,
        fields: {
          user_text: { type: "UTF8" },
          role_text: { type: "UTF8" },
          user_audio: {
            optional: true,
            fields: { bytes: { type: "BYTE_ARRAY", optional: true }, path: { type: "UTF8", optional: true } },
          },
          role_audio: { type: "BYTE_ARRAY", optional: true },
        },
      },
    });
  it.each([{}, { useDataPageV2: false }, { rowGroupSize: 3 }])(
    "is read, with its settings %j",
    async (settings) => {
      const project = await projectOf(SOURCE);
      const path = join(project.datasets, "given", "test-00000-of-00001.parquet");
      const writer = await ParquetWriter.openFile(schema(), path, settings);
      for (let number = 0; number < 10; number++)
        await writer.appendRow({
          role_id: "dorr",
          ...(number === 0 ? {} : { context: `scene ${number} 胡` }),
          turns: Array.from({ length: 1 + (number % 2) }, (_, turn) => ({
            user_text: `q${number}.${turn}`,
            role_text: `a${number}.${turn}`,
            user_audio: { bytes: Buffer.from(CLIP) },
            ...(turn === 0 ? { role_audio: Buffer.from(CLIP) } : {}),
          })),
        });
      await writer.close();
      const { found, again } = await readAll(await openGiven(project));
      expect(found.map(draftOf)).toEqual(
        Array.from({ length: 10 }, (_, number) => ({
          category: null,
          context: number === 0 ? null : `scene ${number} 胡`,
          systemPrompt: null,
          promptFromProfile: false,
          turns: Array.from({ length: 1 + (number % 2) }, (_turn, turn) => ({
            userText: `q${number}.${turn}`,
            roleText: `a${number}.${turn}`,
            user: { kind: "bytes", bytes: CLIP },
            role: {
              cosyvoice2: turn === 0 ? { kind: "bytes", bytes: CLIP } : null,
              f5_tts: null,
              e2_tts: null,
            },
          })),
        })),
      );
      expect(again).toEqual(found.map(draftOf));
      expect(new Set(found.map(({ pool }) => pool))).toEqual(new Set(["test"]));
    },
  );

  it("without a needed column says which, and which are there", async () => {
    const project = await projectOf(SOURCE);
    const path = join(project.datasets, "given", "a.parquet");
    const writer = await ParquetWriter.openFile(
      new ParquetSchema({
        role: { type: "UTF8" },
        turns: { repeated: true, fields: { user_text: { type: "UTF8" } } },
      }),
      path,
    );
    await writer.appendRow({ role: "thor", turns: [{ user_text: "a" }] });
    await writer.close();
    await expect(openGiven(project)).rejects.toMatchObject({
      code: "PARQUET_COLUMNS",
      message: `${path} has no column role_id, turns.role_text, turns.user_audio; it has role, turns, turns.user_text`,
    });
  });
});

/** A project that takes the packed shards of a small corpus as its source. */
const repacked = async (): Promise<{ readonly from: Project; readonly project: Project }> => {
  const from = await projectWith();
  await packDataset({ project: from, name: "small" });
  const project = await projectOf(SOURCE);
  const folder = join(project.datasets, "given");
  await mkdir(join(folder, "data"));
  const shards = join(packedFolder(from, "small"), "data");
  for (const name of await readdir(shards))
    if (name.endsWith(".parquet")) await copyFile(join(shards, name), join(folder, "data", name));
  await copyFile(join(from.datasets, "small", "roles.json"), join(folder, "roles.json"));
  return { from, project };
};

const testIds = async (project: Project, name: string): Promise<string[]> => {
  const dataset = await openDataset(project, name);
  const ids: string[] = [];
  for await (const { id, contentSha256 } of dataset.texts("test")) ids.push(`${id} ${contentSha256}`);
  await dataset.close();
  expect(ids).toHaveLength(12);
  return ids.toSorted();
};

describe("our own shards as a source", () => {
  it("give the same dialogues under the same ids, test sessions as such", async () => {
    const { from, project } = await repacked();
    const { lock } = await packDataset({ project, name: "given", allow: { held_out_roles: "a test" } });
    const { lock: before } = await packDataset({ project: from, name: "small" });
    expect(await testIds(project, "given")).toEqual(await testIds(from, "small"));
    expect(lock.splits.train.rows + lock.splits.dev.rows).toBe(
      before.splits.train.rows + before.splits.dev.rows + before.splits.ood.rows,
    );
    expect(lock.drops.list).toEqual([]);
  });

  it("are refused by name when they are none", async () => {
    const project = await projectOf(SOURCE, { "a.parquet": "PAR1 not at all" });
    await expect(openGiven(project)).rejects.toMatchObject({
      code: "PARQUET_UNREADABLE",
      message: expect.stringContaining("a.parquet cannot be read as Parquet"),
    });
    await rm(join(project.datasets, "given", "a.parquet"));
    await expect(openGiven(project)).rejects.toMatchObject({ code: "SOURCE_MISSING" });
  });
});

describe("a table in which no single row can be found", () => {
  const large = async (): Promise<Project> => {
    const project = await projectOf(SOURCE);
    const noise = Buffer.alloc(600_000, 7);
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
      { pageIndex: false },
    );
    for (let number = 0; number < 12; number++)
      await writer.appendRow({
        role_id: "thor",
        turns: [{ user_text: `q${number}`, role_text: "a", user_audio: noise }],
      });
    await writer.close();
    return project;
  };
  const spools = async (project: Project): Promise<string[]> =>
    readdir(join(project.state, "datasets", "given.rows"));

  it("is kept row by row while it is read, and made again when that was deleted", async () => {
    const project = await large();
    const source = await openGiven(project);
    const { found, again } = await readAll(source);
    expect(again.map((draft) => draft?.turns[0]?.userText)).toEqual(
      Array.from({ length: 12 }, (_, index) => `q${index}`),
    );
    const [spool = "", ...others] = await spools(project);
    expect(others).toEqual([]);
    await rm(join(project.state, "datasets", "given.rows", spool));
    const [, second] = found;
    expect(second && (await source.read(second))).toEqual(again[1]);
    expect(await spools(project)).toEqual([spool]);
    await writeFile(join(project.state, "datasets", "given.rows", spool), "x");
    await expect(second && source.read(second)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  });

  it("leaves nothing half written when it is given up", async () => {
    const project = await large();
    const source = await openGiven(project);
    for await (const _ of source.dialogues("a.parquet")) break;
    expect(await spools(project)).toEqual([]);
    expect((await stat(join(project.datasets, "given", "a.parquet"))).size).toBeGreaterThan(4_000_000);
  });
});

it("a role manifest of a table may stand beside the spec", async () => {
  const project = await projectOf({ ...SOURCE, path: "given/none", roles: "given.roles.json" });
  await put(join(project.datasets, "given.roles.json"), JSON.stringify(ROLES));
  await expect(openGiven(project)).rejects.toMatchObject({ code: "SOURCE_MISSING" });
});
