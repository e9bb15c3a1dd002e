import type { SchemaElement } from "hyparquet";
import { REFERENCE_BACKENDS, type ReferenceBackend } from "../schema.ts";

/** Column of a reference backend's audio inside `turns`. */
export const audioColumn = (backend: ReferenceBackend): `role_audio_${ReferenceBackend}` =>
  `role_audio_${backend}`;

/** Text columns in the order of the file, after which come the numbers. */
export const TEXT_COLUMNS = [
  "id",
  "role_id",
  "role_name",
  "language",
  "role_source",
  "kind",
  "category",
  "system_prompt",
  "context",
] as const;

/** Every column of a row, in the order of the file. */
export const COLUMNS = [...TEXT_COLUMNS, "num_turns", "audio_seconds", "turns", "content_sha256"] as const;

// Every field is OPTIONAL and `bytes` stands before `path`: Python's `datasets` takes a feature from the footer only
// where the Arrow field equals it, and otherwise silently makes a plain struct of an Audio.
const text = (name: string): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  converted_type: "UTF8",
  logical_type: { type: "STRING" },
  repetition_type: "OPTIONAL",
});
const integer = (name: string): SchemaElement => ({ name, type: "INT32", repetition_type: "OPTIONAL" });
const audio = (name: string): readonly SchemaElement[] => [
  { name, repetition_type: "OPTIONAL", num_children: 2 },
  { name: "bytes", type: "BYTE_ARRAY", repetition_type: "OPTIONAL" },
  text("path"),
];

const turnFields = (withAudio: boolean): readonly SchemaElement[] => {
  const fields = [
    [integer("index")],
    [text("user_text")],
    ...(withAudio ? [audio("user_audio")] : []),
    [text("role_text")],
    ...(withAudio ? REFERENCE_BACKENDS.map((backend) => audio(audioColumn(backend))) : []),
  ];
  return [
    {
      name: "turns",
      repetition_type: "OPTIONAL",
      num_children: 1,
      converted_type: "LIST",
      logical_type: { type: "LIST" },
    },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    { name: "element", repetition_type: "OPTIONAL", num_children: fields.length },
    ...fields.flat(),
  ];
};

/** Parquet schema of a shard; without audio, the part of it that a scan over the text reads. */
export const parquetSchema = (withAudio = true): SchemaElement[] => [
  { name: "schema", num_children: COLUMNS.length },
  ...TEXT_COLUMNS.map(text),
  integer("num_turns"),
  { name: "audio_seconds", type: "FLOAT", repetition_type: "OPTIONAL" },
  ...turnFields(withAudio),
  text("content_sha256"),
];
