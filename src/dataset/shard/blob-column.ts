import type { SchemaElement } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { getPageBoundaries } from "hyparquet-writer/src/column.js";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import type { PageData, PageIndexes, Writer } from "hyparquet-writer/src/types.js";
import { InternalError } from "../../core/errors.ts";

export interface BlobColumn {
  /** From the root to the leaf, a BYTE_ARRAY below one repeated level. */
  readonly schemaPath: readonly SchemaElement[];
  readonly page: PageData;
  /** A page is closed at the first row that brings it to so many bytes. */
  readonly pageBytes: number;
}

const REPETITION_BITS = 1;
const LENGTH_BYTES = 4;

/**
 * Writes a column chunk of blobs (PLAIN, no codec, no statistics) exactly as the library writes it, but each blob goes to
 * the writer from where it lies. The library gathers every page in memory of its own first, which for clips costs more
 * than all else that it does.
 */
export const writeBlobs = (writer: Writer, { schemaPath, page, pageBytes }: BlobColumn): PageIndexes => {
  const { values, definitionLevels, repetitionLevels } = page;
  const begin = writer.offset;
  let uncompressed = 0;
  let row = 0n;
  const locations: { offset: bigint; compressed_page_size: number; first_row_index: bigint }[] = [];
  const boundaries = getPageBoundaries(values, "BYTE_ARRAY", undefined, pageBytes, repetitionLevels);
  for (const { start, end } of boundaries) {
    const offset = writer.offset;
    const rows = repetitionLevels.slice(start, end);
    const bytes = writePage(writer, {
      blobs: blobsOf(values, start, end),
      repetitionLevels: rows,
      definitionLevels: definitionLevels.slice(start, end),
      definitionBits: Math.ceil(Math.log2(page.maxDefinitionLevel + 1)),
    });
    uncompressed += bytes;
    locations.push({
      offset: BigInt(offset),
      compressed_page_size: writer.offset - offset,
      first_row_index: row,
    });
    row += BigInt(rows.filter((level) => level === 0).length);
  }
  return {
    chunk: {
      meta_data: {
        type: "BYTE_ARRAY",
        encodings: ["PLAIN"],
        path_in_schema: schemaPath.slice(1).map(({ name }) => name),
        codec: "UNCOMPRESSED",
        num_values: BigInt(values.length),
        total_compressed_size: BigInt(writer.offset - begin),
        total_uncompressed_size: BigInt(uncompressed),
        data_page_offset: BigInt(begin),
      },
      file_offset: BigInt(begin),
    },
    ...(locations.length > 1 ? { offsetIndex: { page_locations: locations } } : {}),
  };
};

interface Page {
  /** Those that are not null. */
  readonly blobs: readonly Uint8Array[];
  readonly repetitionLevels: number[];
  readonly definitionLevels: number[];
  readonly definitionBits: number;
}

function writePage(
  writer: Writer,
  { blobs, repetitionLevels, definitionLevels, definitionBits }: Page,
): number {
  const begin = writer.offset;
  const levels = new ByteWriter();
  const repetition = writeRleBitPackedHybrid(levels, repetitionLevels, REPETITION_BITS);
  const definition = writeRleBitPackedHybrid(levels, definitionLevels, definitionBits);
  const size = levels.offset + blobs.reduce((sum, blob) => sum + LENGTH_BYTES + blob.length, 0);
  writePageHeader(writer, {
    type: "DATA_PAGE_V2",
    uncompressed_page_size: size,
    compressed_page_size: size,
    data_page_header_v2: {
      num_values: definitionLevels.length,
      num_nulls: definitionLevels.length - blobs.length,
      num_rows: repetitionLevels.filter((level) => level === 0).length,
      encoding: "PLAIN",
      definition_levels_byte_length: definition,
      repetition_levels_byte_length: repetition,
      is_compressed: true,
    },
  });
  writer.appendBytes(levels.getBytes());
  for (const blob of blobs) {
    writer.appendUint32(blob.length);
    writer.appendBytes(blob);
  }
  return writer.offset - begin;
}

function blobsOf(values: PageData["values"], start: number, end: number): readonly Uint8Array[] {
  const blobs: Uint8Array[] = [];
  for (let index = start; index < end; index++) {
    const value: unknown = values[index];
    if (value instanceof Uint8Array) blobs.push(value);
    else if (value !== null && value !== undefined)
      throw new InternalError("BLOB_EXPECTED", `a value of a column of blobs is a ${typeof value}`);
  }
  return blobs;
}
