import { open, type FileHandle } from "node:fs/promises";
import { parquetMetadataAsync, parquetReadObjects, type AsyncBuffer, type FileMetaData } from "hyparquet";
import { messageOf, systemCode, systemText, UserError } from "../../core/errors.ts";
import type { Dialogue } from "../schema.ts";
import { readSpan } from "../file-span.ts";
import { COLUMNS, parquetSchema } from "./columns.ts";
import { FOOTER_KEY } from "./footer.ts";
import { toDialogue, toText, type DialogueText } from "./row.ts";

/** An open shard: rows by number or id, or all text without touching the audio. Close it. */
export interface Shard {
  readonly path: string;
  readonly rows: number;
  /** Bytes of all columns before compression, as the footer states them. */
  readonly uncompressedBytes: number;
  /** The feature description in the footer, as stored. */
  readonly footer: string | undefined;
  /** Row by number, 0-based. RangeError when there is none. Reads the pages of this row only. */
  row(index: number): Promise<Dialogue>;
  /** Number of the row with this id (the first of several), or undefined. All ids are read once per opening. */
  find(id: string): Promise<number | undefined>;
  ids(): Promise<readonly string[]>;
  /** All rows in order, without audio: a thousandth of the bytes. */
  texts(): AsyncIterable<DialogueText>;
  /** All rows in order, one row group in memory at a time. */
  dialogues(): AsyncIterable<Dialogue>;
  close(): Promise<void>;
}

/** Opens a shard that this program wrote. UserErrors `SHARD_MISSING`, `SHARD_UNREADABLE`. */
export const openShard = async (path: string): Promise<Shard> => {
  const file = await openFile(path);
  try {
    const buffer = await bufferOf(file);
    const metadata = await parquetMetadataAsync(buffer);
    const names = new Set(metadata.schema.map((element) => element.name));
    const missing = COLUMNS.filter((column) => !names.has(column));
    if (missing.length > 0) throw new Error(`it has no column ${missing.join(", ")}`);
    return shardOf(path, { file, buffer, metadata });
  } catch (error) {
    await file.close();
    throw unreadable(path, "is no whole shard of dialogues", error);
  }
};

// What the reader of Parquet says of damaged bytes is no sentence for a person who did not write it.
const unreadable = (path: string, what: string, cause: unknown): UserError => {
  // What the disk refuses (EIO, …) says nothing of the bytes on it; ERR_… comes of sizes that they claim.
  if (/^E[A-Z]+$/.test(systemCode(cause) ?? ""))
    return new UserError("SHARD_UNREADABLE", `${path} cannot be read: ${systemText(cause)}`, { cause });
  return new UserError("SHARD_UNREADABLE", `${path} ${what} (${messageOf(cause)})`, {
    hint: "understudy dataset check NAME says which shards are not what their lock says; understudy dataset pack NAME makes those anew",
    cause,
  });
};

interface Opened {
  readonly file: FileHandle;
  readonly buffer: AsyncBuffer;
  readonly metadata: FileMetaData;
}

function shardOf(path: string, { file, buffer, metadata }: Opened): Shard {
  const rows = Number(metadata.num_rows);
  const textOnly = withoutAudio(metadata);
  const objects = async (
    options: Partial<Parameters<typeof parquetReadObjects>[0]>,
  ): ReturnType<typeof parquetReadObjects> => {
    try {
      return await parquetReadObjects({ file: buffer, metadata, utf8: false, ...options });
    } catch (error) {
      throw unreadable(path, "is damaged", error);
    }
  };
  const read = async (from: number, to: number, of: FileMetaData): Promise<unknown[]> =>
    objects({ metadata: of, useOffsetIndex: true, rowStart: from, rowEnd: to });
  const ids = async (): Promise<readonly string[]> => {
    const found = await objects({ columns: ["id"] });
    return found.map((row) => String(row["id"]));
  };
  let numbers: Promise<ReadonlyMap<string, number>> | undefined;
  const numbersById = async (): Promise<ReadonlyMap<string, number>> => {
    const found = [...(await ids()).entries()];
    return new Map(found.toReversed().map(([number, id]) => [id, number]));
  };
  return {
    path,
    rows,
    uncompressedBytes: Number(metadata.row_groups.reduce((sum, group) => sum + group.total_byte_size, 0n)),
    footer: metadata.key_value_metadata?.find(({ key }) => key === FOOTER_KEY)?.value,
    ids,
    find: async (id) => {
      numbers ??= numbersById();
      return (await numbers).get(id);
    },
    row: async (index) => {
      if (!Number.isInteger(index) || index < 0 || index >= rows)
        throw new RangeError(`${path} has rows 0 to ${rows - 1}, not ${index}`);
      const [row] = await read(index, index + 1, metadata);
      return toDialogue(row, `${path} row ${index}`);
    },
    async *texts() {
      for (const [from, to] of groups(metadata))
        for (const [offset, row] of (await read(from, to, textOnly)).entries())
          yield toText(row, `${path} row ${from + offset}`);
    },
    async *dialogues() {
      for (const [from, to] of groups(metadata))
        for (const [offset, row] of (await read(from, to, metadata)).entries())
          yield toDialogue(row, `${path} row ${from + offset}`);
    },
    close: async () => file.close(),
  };
}

function* groups({ row_groups }: FileMetaData): Generator<readonly [from: number, to: number]> {
  let from = 0;
  for (const { num_rows } of row_groups) {
    const to = from + Number(num_rows);
    yield [from, to];
    from = to;
  }
}

// The reader selects whole top-level columns only; a schema without the audio leaves makes it skip their bytes.
function withoutAudio(metadata: FileMetaData): FileMetaData {
  const row_groups = metadata.row_groups.map((group) => ({
    ...group,
    columns: group.columns.filter(
      (chunk) => !chunk.meta_data?.path_in_schema.some((name) => name.includes("_audio")),
    ),
  }));
  return { ...metadata, schema: parquetSchema(false), row_groups };
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    throw new UserError("SHARD_MISSING", `There is no shard ${path}`, { hint: "pack the data set again" });
  }
}

// Footer and page indexes of 500 MB of dialogues are some 50 kB.
const TAIL_BYTES = 262_144;

// The end of the file stays in memory: a row would ask for the place of its pages before it could ask for them.
async function bufferOf(file: FileHandle): Promise<AsyncBuffer> {
  const { size } = await file.stat();
  const tailStart = Math.max(0, size - TAIL_BYTES);
  const tail = await readSpan(file, tailStart, size);
  return {
    byteLength: size,
    slice: (start, end = size) =>
      start < tailStart || end > size
        ? readSpan(file, start, end)
        : tail.slice(start - tailStart, end - tailStart),
  };
}
