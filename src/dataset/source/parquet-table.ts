import { open, stat } from "node:fs/promises";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import {
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
} from "hyparquet";
import { decompress } from "fzstd";
import { messageOf, UserError } from "../../core/errors.ts";
import { readSpan } from "../file-span.ts";

/** Rows [from, to) of a table that are read at once, and what they take. */
export interface RowGroupSpan {
  readonly from: number;
  readonly to: number;
  /** Bytes of all columns before compression. */
  readonly bytes: number;
  /** Single rows can be read without the others: every large column says where its pages are. */
  readonly indexed: boolean;
}

/** A Parquet file of dialogues, as its footer describes it. No file is held open. */
export interface ParquetTable {
  readonly path: string;
  readonly groups: readonly RowGroupSpan[];
  readonly metadata: FileMetaData;
}

// Below this a column chunk is read whole for one row.
const SMALL_CHUNK = 4_000_000;
const REQUIRED = ["role_id", "turns", "turns.user_text", "turns.role_text", "turns.user_audio"];

/**
 * Opens a table and looks whether it has the columns of a dialogue. UserErrors `PARQUET_UNREADABLE`, and
 * `PARQUET_COLUMNS` naming what is missing and what is there.
 */
export const openTable = async (path: string): Promise<ParquetTable> => {
  const metadata = await readMetadata(path);
  const columns = columnNames(metadata);
  const missing = REQUIRED.filter((name) => !columns.includes(name));
  if (missing.length > 0)
    throw new UserError(
      "PARQUET_COLUMNS",
      `${path} has no column ${missing.join(", ")}; it has ${columns.join(", ")}`,
      {
        hint: "dialogues need role_id and turns[{user_text, user_audio, role_text, role_audio}]: rename the columns",
      },
    );
  let from = 0;
  const groups = metadata.row_groups.map((group): RowGroupSpan => {
    const span = { from, to: from + Number(group.num_rows) };
    from = span.to;
    const indexed = group.columns.every(
      (chunk) =>
        (chunk.offset_index_offset ?? 0n) > 0n ||
        Number(chunk.meta_data?.total_compressed_size ?? 0n) < SMALL_CHUNK,
    );
    return { ...span, bytes: Number(group.total_byte_size), indexed: indexed || span.to - span.from === 1 };
  });
  return { path, groups, metadata };
};

// Snappy and none are what `datasets` and we write; others come from other writers, zstd above all.
const DECODERS: Compressors = {
  GZIP: (input) => gunzipSync(input),
  BROTLI: (input) => brotliDecompressSync(input),
  ZSTD: (input, length) => decompress(input, new Uint8Array(length)),
};

/** Rows [from, to) of a table, columns by name, all or those wanted that there are. UserError `PARQUET_UNREADABLE`. */
export const readRows = async (
  { path, metadata }: ParquetTable,
  { from, to }: { readonly from: number; readonly to: number },
  wanted?: readonly string[],
): Promise<readonly Readonly<Record<string, unknown>>[]> => {
  try {
    const file = await bufferOf(path);
    const there = new Set(parquetSchema(metadata).children.map(({ element }) => element.name));
    const columns = wanted?.filter((name) => there.has(name));
    return await parquetReadObjects({
      file,
      metadata,
      compressors: DECODERS,
      utf8: false,
      useOffsetIndex: true,
      rowStart: from,
      rowEnd: to,
      ...(columns ? { columns } : {}),
    });
  } catch (error) {
    throw unreadable(path, error);
  }
};

/** Names of the columns, and `turns.NAME` for what a turn holds, however the list is wrapped. */
function columnNames(metadata: FileMetaData): readonly string[] {
  return parquetSchema(metadata).children.flatMap(({ element: { name }, children }) =>
    name === "turns" ? [name, ...inner(children).map((child) => `turns.${child}`)] : [name],
  );
}

type Children = ReturnType<typeof parquetSchema>["children"];

// A list stands as list.element or bag.array_element, or is no group of its own at all.
function inner(children: Children): readonly string[] {
  const [only, ...others] = children;
  if (only && others.length === 0 && only.children.length > 0 && !only.element.name.startsWith("user_"))
    return inner(only.children);
  return children.map(({ element }) => element.name);
}

async function readMetadata(path: string): Promise<FileMetaData> {
  try {
    return await parquetMetadataAsync(await bufferOf(path));
  } catch (error) {
    throw unreadable(path, error);
  }
}

const unreadable = (path: string, error: unknown): UserError => {
  const message = messageOf(error);
  const isCodec = /unsupported compression codec/.test(message);
  return new UserError("PARQUET_UNREADABLE", `${path} cannot be read as Parquet: ${message}`, {
    ...(isCodec ? { hint: "write it again with compression zstd, gzip, brotli, snappy or none" } : {}),
    cause: error,
  });
};

// Opened for each read: a corpus of hundreds of files would be more than a process may have open.
async function bufferOf(path: string): Promise<AsyncBuffer> {
  const { size } = await stat(path);
  return {
    byteLength: size,
    slice: async (start, end = size) => {
      const file = await open(path, "r");
      try {
        return await readSpan(file, start, end);
      } finally {
        await file.close();
      }
    },
  };
}
