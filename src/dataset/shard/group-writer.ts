import type { ColumnChunk, SchemaElement, SchemaTree } from "hyparquet";
import { ParquetWriter } from "hyparquet-writer";
import { writeColumn } from "hyparquet-writer/src/column.js";
import { encodeNestedValues } from "hyparquet-writer/src/dremel.js";
import { schemaPathResolver } from "hyparquet-writer/src/schema.js";
import type { ColumnSource } from "hyparquet-writer/src/types.js";
import { writeBlobs } from "./blob-column.ts";

export type GroupColumn = Pick<
  ColumnSource,
  "name" | "data" | "encoding" | "codec" | "statistics" | "columnIndex"
>;

/** The library's writer, with one group at a time and columns of blobs that are not gathered in memory before they are written. */
export class GroupWriter extends ParquetWriter {
  /** Writes a row group; every column has `rows` values. */
  writeGroup(columns: readonly GroupColumn[], rows: number, pageBytes: number): void {
    const begin = this.writer.offset;
    const pathOf = schemaPathResolver(this.schema);
    const chunks: ColumnChunk[] = [];
    for (const column of columns)
      for (const path of leavesOf(pathOf([column.name])))
        chunks.push(this.#writeLeaf(path, column, pageBytes));
    this.num_rows += BigInt(rows);
    this.row_groups.push({
      columns: chunks,
      total_byte_size: chunks.reduce(
        (sum, { meta_data }) => sum + (meta_data?.total_uncompressed_size ?? 0n),
        0n,
      ),
      num_rows: BigInt(rows),
      total_compressed_size: BigInt(this.writer.offset - begin),
    });
  }

  #writeLeaf(path: readonly SchemaTree[], column: GroupColumn, pageBytes: number): ColumnChunk {
    const schemaPath = path.map(({ element }) => element);
    const element = schemaPath.at(-1) ?? { name: column.name };
    const page = encodeNestedValues([...path], column.data);
    const written = isBlob(element)
      ? writeBlobs(this.writer, { schemaPath, page, pageBytes })
      : writeColumn({
          writer: this.writer,
          pageData: page,
          column: {
            columnName: schemaPath
              .slice(1)
              .map(({ name }) => name)
              .join("."),
            element,
            schemaPath,
            codec: column.codec ?? this.codec,
            compressors: { SNAPPY: this.compressors.SNAPPY },
            stats: column.statistics ?? this.statistics,
            pageSize: pageBytes,
            columnIndex: column.columnIndex ?? false,
            offsetIndex: true,
            ...(column.encoding === undefined ? {} : { encoding: column.encoding }),
          },
        });
    this.pendingIndexes.push(written);
    return written.chunk;
  }
}

const isBlob = ({ type, converted_type: text }: SchemaElement): boolean =>
  type === "BYTE_ARRAY" && text === undefined;

function leavesOf(path: readonly SchemaTree[]): readonly (readonly SchemaTree[])[] {
  const children = path.at(-1)?.children ?? [];
  return children.length === 0 ? [path] : children.flatMap((child) => leavesOf([...path, child]));
}
