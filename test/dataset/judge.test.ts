import { cp, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { ParquetWriter, fileWriter } from "hyparquet-writer";
import type { SchemaElement } from "hyparquet";
import { packDataset } from "../../src/dataset/index.ts";
import { parquetSchema } from "../../src/dataset/shard/columns.ts";
import { FOOTER_KEY, footerValue } from "../../src/dataset/shard/footer.ts";
import { testPython } from "../support/python.ts";
import { makeProject, projectWith, toneClip } from "./corpus.ts";
import { askJudge, AUDIO_COLUMNS, judgeWith, storesFlac } from "./judging.ts";

const python = testPython() ?? "";
const root = resolve(import.meta.dirname, "../..");

const title = python === "" ? " (skipped: no Python; set UNDERSTUDY_TEST_PYTHON)" : "";
describe.skipIf(python === "")(`Python's datasets and pyarrow read every field and clip${title}`, () => {
  it.each([
    ["list", "wav"],
    ["compat", "wav"],
    ["list", "flac"],
  ])(
    "of a small corpus in several shards, footer %s, clips %s",
    async (footer, codec) => {
      const project = await projectWith((corpus) => {
        corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000, footer };
        corpus.spec["audio"] = { codec };
      });
      await packDataset({ project, name: "small" });
      expect(await storesFlac(project, "small")).toBe(codec === "flac");
      const { version, splits } = await judgeWith(python, project, { name: "small" });
      expect(version).toMatch(/^5\./);
      expect(splits["train"]?.features).toMatchObject({
        id: "Value('string')",
        num_turns: "Value('int32')",
        audio_seconds: "Value('float32')",
      });
    },
    120_000,
  );

  it("of greenroom", async () => {
    const project = await makeProject();
    await cp(join(root, "datasets", "greenroom.yaml"), join(project.datasets, "greenroom.yaml"));
    await symlink(join(root, "datasets", "greenroom"), join(project.datasets, "greenroom"));
    await packDataset({ project, name: "greenroom" });
    await judgeWith(python, project, { name: "greenroom" });
  }, 120_000);
});

// Why every field is OPTIONAL and bytes stand before path: without an error, Audio becomes a struct of two fields.
describe.skipIf(python === "")(`A shard whose Parquet schema is not that of its footer${title}`, () => {
  const changes: Readonly<Record<string, (schema: SchemaElement[]) => SchemaElement[]>> = {
    as_written: (schema) => schema,
    required_clip: (schema) =>
      schema.map((one) => (one.name === "user_audio" ? { ...one, repetition_type: "REQUIRED" } : one)),
    required_bytes: (schema) =>
      schema.map((one) => (one.name === "bytes" ? { ...one, repetition_type: "REQUIRED" } : one)),
    required_element: (schema) =>
      schema.map((one) => (one.name === "element" ? { ...one, repetition_type: "REQUIRED" } : one)),
    path_first: (schema) =>
      schema.map((one, at) => {
        if (one.name === "bytes") return schema[at + 1] ?? one;
        return one.name === "path" ? (schema[at - 1] ?? one) : one;
      }),
  };
  it("has lost its audio, so that the guard is known to work", async () => {
    const { root: folder } = await makeProject();
    const files: string[] = [];
    for (const [name, change] of Object.entries(changes)) {
      const path = join(folder, `${name}.parquet`);
      await writeRow(path, change(parquetSchema()));
      files.push(`${name}=${path}`);
    }
    const { splits } = await askJudge(python, folder, ["--features", ...files]);
    const found = Object.fromEntries(Object.entries(splits).map(([name, { audio }]) => [name, audio]));
    expect(found).toEqual({
      as_written: AUDIO_COLUMNS,
      required_clip: [],
      required_bytes: [],
      required_element: [],
      path_first: [],
    });
  }, 120_000);
});

async function writeRow(path: string, schema: SchemaElement[]): Promise<void> {
  const clip = { path: "a.wav", bytes: toneClip(1) };
  const turn = {
    index: 0,
    user_text: "question",
    user_audio: clip,
    role_text: "answer",
    role_audio_cosyvoice2: clip,
    role_audio_f5_tts: clip,
    role_audio_e2_tts: clip,
  };
  const values: Readonly<Record<string, unknown>> = { num_turns: 1, audio_seconds: 0.1, turns: [turn] };
  const [, ...fields] = schema;
  const names: string[] = [];
  for (let at = 0; at < fields.length; at += sizeOf(fields, at)) names.push(fields[at]?.name ?? "");
  const writer = new ParquetWriter({
    writer: fileWriter(path),
    schema,
    kvMetadata: [{ key: FOOTER_KEY, value: footerValue("list") }],
  });
  await writer.write({
    rowGroupSize: 1,
    columnData: names.map((name) => ({ name, data: [values[name] ?? "text"] })),
  });
  await writer.finish();
}

// Elements of a schema that belong to the one at a place, itself included.
function sizeOf(fields: readonly SchemaElement[], at: number): number {
  let size = 1;
  for (let child = 0; child < (fields[at]?.num_children ?? 0); child++) size += sizeOf(fields, at + size);
  return size;
}
