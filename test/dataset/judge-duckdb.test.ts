import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, it } from "vitest";
import { packDataset } from "../../src/dataset/index.ts";
import { projectWith } from "./corpus.ts";
import { ownRows } from "./judging.ts";

// DuckDB hashes the clips itself, so that nothing of ours has a part in what is compared. The samples of a stored WAV begin after
// 44 bytes; those of FLAC it cannot see.
const clip = (column: string): string =>
  `CASE WHEN t.${column} IS NULL THEN NULL ELSE {'sha256': sha256(t.${column}.bytes), 'path': t.${column}.path} END`;
const QUERY = `
  SELECT id, role_id, role_name, language, role_source, kind, category, system_prompt, context, num_turns,
    audio_seconds, content_sha256,
    list_transform(turns, lambda t: {
      'index': t.index, 'user_text': t.user_text, 'user_audio': ${clip("user_audio")}, 'role_text': t.role_text,
      'role_audio_cosyvoice2': ${clip("role_audio_cosyvoice2")}, 'role_audio_f5_tts': ${clip("role_audio_f5_tts")},
      'role_audio_e2_tts': ${clip("role_audio_e2_tts")}
    }) AS turns
  FROM read_parquet($1, file_row_number = true) ORDER BY file_row_number`;

describe("DuckDB", () => {
  it.each([
    ["list", "wav"],
    ["compat", "flac"],
  ])(
    "reads every field and clip, footer %s, clips %s",
    async (footer, codec) => {
      const project = await projectWith((corpus) => {
        corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000, footer };
        corpus.spec["audio"] = { codec };
      });
      await packDataset({ project, name: "small" });
      const instance = await DuckDBInstance.create(":memory:");
      const connection = await instance.connect();
      for (const { paths, rows } of (await ownRows(project, "small")).values()) {
        const found: unknown[] = [];
        for (const path of paths) {
          const reader = await connection.runAndReadAll(QUERY, [path]);
          found.push(...reader.getRowObjectsJson());
        }
        expect(found).toEqual(rows.map(withoutPcm));
      }
      connection.closeSync();
      instance.closeSync();
    },
    60_000,
  );
});

function withoutPcm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPcm);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => name !== "pcm");
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutPcm(inner)]));
}
