import { ByteWriter } from "hyparquet-writer";
import { writeColumn } from "hyparquet-writer/src/column.js";
import { encodeNestedValues } from "hyparquet-writer/src/dremel.js";
import { schemaPathResolver } from "hyparquet-writer/src/schema.js";
import type { SchemaTree } from "hyparquet";
import { describe, expect, it } from "vitest";
import { writeBlobs } from "../../src/dataset/shard/blob-column.ts";
import { parquetSchema } from "../../src/dataset/shard/columns.ts";

const PAGE_BYTES = 1_000;

// turns → list → element → user_audio → bytes
const leafOf = (names: readonly string[]): readonly SchemaTree[] => {
  const path = schemaPathResolver(parquetSchema())(["turns"]);
  for (const name of names) {
    const next = path.at(-1)?.children.find(({ element }) => element.name === name);
    if (!next) throw new Error(`no ${name}`);
    path.push(next);
  }
  return path;
};
const leaf = leafOf(["list", "element", "user_audio", "bytes"]);
const schemaPath = leaf.map(({ element }) => element);
const blob = (size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, at) => (at * 7 + size) % 251);
const turn = (size: number | null): object => ({
  user_audio: size === null ? null : { bytes: blob(size), path: "a" },
});

const cases: readonly (readonly [string, readonly (readonly object[] | null)[]])[] = [
  ["one row", [[turn(5)]]],
  ["a page for each row, and small ones together", [[turn(3_000)], [turn(10)], [turn(20)], [turn(2_000)]]],
  ["rows of several turns", [[turn(900), turn(900), turn(900)], [turn(1)], [turn(400), turn(700)]]],
  ["no turns, no list and turns without audio", [[], null, [turn(null)], [turn(0)], [turn(7), turn(null)]]],
  ["nothing but nulls", [[turn(null)], [turn(null), turn(null)]]],
  [
    "more rows than levels fit into one run",
    Array.from({ length: 70 }, (_, row) => [turn(row % 5 === 0 ? null : row)]),
  ],
];

describe("a column of blobs", () => {
  it.each(cases)("%s: byte for byte what the library writes", (_, rows) => {
    const page = encodeNestedValues([...leaf], [...rows]);
    const [ours, theirs] = [new ByteWriter(), new ByteWriter()];
    // Not at the beginning of a file.
    for (const writer of [ours, theirs]) writer.appendUint32(0x31524150);
    const element = schemaPath.at(-1);
    if (!element) throw new Error("no leaf");
    const expected = writeColumn({
      writer: theirs,
      pageData: page,
      column: {
        columnName: "turns",
        element,
        schemaPath,
        codec: "UNCOMPRESSED",
        compressors: {},
        stats: false,
        pageSize: PAGE_BYTES,
        columnIndex: false,
        offsetIndex: true,
        encoding: "PLAIN",
      },
    });
    const written = writeBlobs(ours, { schemaPath, page, pageBytes: PAGE_BYTES });
    expect(Buffer.from(ours.getBytes()).equals(theirs.getBytes())).toBe(true);
    expect(written).toEqual(expected);
  });

  it("refuses what is no blob", () => {
    const page = encodeNestedValues([...leaf], [[{ user_audio: { bytes: "text", path: "a" } }]]);
    expect(() => writeBlobs(new ByteWriter(), { schemaPath, page, pageBytes: PAGE_BYTES })).toThrow(
      "a value of a column of blobs is a string",
    );
  });
});
