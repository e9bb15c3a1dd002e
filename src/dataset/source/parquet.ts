import { stat } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import type { DatasetSpec } from "../schema.ts";
import { readClip } from "./clip-file.ts";
import { draftAgain, foundOf } from "./manifest.ts";
import { namedRoles } from "./named-roles.ts";
import { parquetFiles, poolOfFile, type ParquetFiles } from "./parquet-files.ts";
import { openTable, readRows, type ParquetTable, type RowGroupSpan } from "./parquet-table.ts";
import { withTurns } from "./parquet-turns.ts";
import type { Place } from "./place.ts";
import type { RecordContext } from "./plain-record.ts";
import { sourceChanged, type SourcePaths } from "./release.ts";
import { openSpool, spooledRow } from "./row-spool.ts";
import type { DialogueSource, Found } from "./source.ts";

export type TableSpec = Pick<Extract<DatasetSpec["source"], { format: "parquet" }>, "trainReference">;

// A group of rows up to this size is read whole; a larger one row by row, where its pages are known, and else not at all.
const GROUP_AT_ONCE = 96_000_000;
const LARGEST_GROUP = 512_000_000;
// Row groups that one thread reads in one go.
const UNIT_BYTES = 256_000_000;
const MOST_TABLES = 16;

interface Unit {
  readonly name: string;
  readonly file: string;
  readonly groups: readonly RowGroupSpan[];
}

/**
 * Parquet of dialogues, one in each row, with the columns of our own shards: those, and tables written by `datasets`,
 * pyarrow or parquetjs-lite. `spools` is a folder for what is kept of tables in which single rows cannot be found.
 * UserErrors `SOURCE_MISSING`, `PARQUET_UNREADABLE`, `PARQUET_COLUMNS`, `PARQUET_ROW_GROUP`, `ROLE_UNKNOWN`.
 */
export const openParquet = async (
  spec: TableSpec,
  paths: SourcePaths,
  spools: string,
): Promise<DialogueSource> => openTables(spec, { ...paths, files: await parquetFiles(paths.folder), spools });

/** The same, of named files below a folder. */
export const openTables = async (
  spec: TableSpec,
  {
    folder,
    rolesFile,
    files,
    spools,
  }: SourcePaths & { readonly files: ParquetFiles; readonly spools: string },
): Promise<DialogueSource> => {
  const named = await namedRoles(files.base, rolesFile);
  const units = new Map<string, Unit>();
  for (const file of files.names)
    for (const unit of unitsOf(file, await openTable(join(files.base, file)))) units.set(unit.name, unit);
  const reader = tableReader(files, spools);
  const contextOf = (file: string): RecordContext => ({
    trainReference: spec.trainReference,
    pool: poolOfFile(file),
    roleOf: named.of,
  });
  return {
    roles: named.roles,
    scripts: named.scripts,
    units: [...units.keys()],
    revision: null,
    folder,
    strangers: [],
    async *dialogues(name, signal) {
      const unit = units.get(name);
      if (!unit) return;
      for await (const { row, place } of reader.rows(unit, signal))
        yield foundOf(row, contextOf(unit.file), {
          place,
          name: `${files.base}/${unit.file} row ${place.index}`,
        });
    },
    read: async ({ place }) => {
      const unit = [...units.values()].find(
        ({ file, groups }) => file === place.file && has(groups, place.index),
      );
      const row = unit && (await reader.row(unit, place));
      if (row === undefined || row === null) throw sourceChanged(place.file);
      return draftAgain(row, contextOf(place.file), place.file);
    },
    clip: async (source, allocate) => {
      // Files beside a single table are no part of this source: whether they change would not be seen.
      if (source.kind === "file" && folder !== files.base)
        return {
          outcome: "rejected",
          reason: "path",
          message: `${source.path} is not in the table: give its folder as source.path`,
        };
      return readClip(source, [files.base], allocate);
    },
    close: async () => undefined,
  };
};

interface PlacedRow {
  readonly row: unknown;
  readonly place: Found["place"];
}

interface TableReader {
  rows(unit: Unit, signal?: AbortSignal): AsyncGenerator<PlacedRow>;
  row(unit: Unit, place: Place): Promise<unknown>;
}

function tableReader(files: ParquetFiles, spools: string): TableReader {
  // In the order of last use: footers of hundreds of tables are too much to keep.
  const tables = new Map<string, Promise<ParquetTable>>();
  const tableOf = async (file: string): Promise<ParquetTable> => {
    const table = tables.get(file) ?? openTable(join(files.base, file));
    tables.delete(file);
    tables.set(file, table);
    for (const oldest of tables.keys()) if (tables.size > MOST_TABLES) tables.delete(oldest);
    return table;
  };
  const spoolOf = async ({ name, file }: Unit): Promise<string> => {
    const { size, mtimeMs } = await stat(join(files.base, file));
    return join(spools, `${sha256(`${files.base}|${name}|${size}|${mtimeMs}`).slice(0, 24)}.rows`);
  };
  async function* rows(unit: Unit, signal?: AbortSignal): AsyncGenerator<PlacedRow> {
    const table = await tableOf(unit.file);
    if (unit.groups.every(({ indexed }) => indexed)) {
      for await (const { row, index } of groupRows(table, unit.groups, signal))
        yield { row, place: { file: unit.file, index, start: index, end: index + 1 } };
      return;
    }
    const spool = await openSpool(await spoolOf(unit));
    let isWhole = false;
    try {
      for await (const { row, index } of groupRows(table, unit.groups, signal))
        yield { row, place: { file: unit.file, index, ...(await spool.add(row)) } };
      isWhole = true;
    } finally {
      await (isWhole ? spool.finish() : spool.discard());
    }
  }
  const row = async (unit: Unit, place: Place): Promise<unknown> => {
    if (unit.groups.every(({ indexed }) => indexed)) {
      const [read] = await readRows(await tableOf(unit.file), { from: place.index, to: place.index + 1 });
      return read && withTurns(read);
    }
    const spool = await spoolOf(unit);
    const kept = await spooledRow(spool, place);
    if (kept !== undefined) return kept;
    // Somebody cleared the cache, or the table has changed.
    for await (const again of rows(unit)) if (again.place.index > place.index) continue;
    return spooledRow(spool, place);
  };
  return { rows, row };
}

async function* groupRows(
  table: ParquetTable,
  groups: readonly RowGroupSpan[],
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly row: unknown; readonly index: number }> {
  for (const group of groups) {
    const step = group.bytes > GROUP_AT_ONCE && group.indexed ? 1 : group.to - group.from;
    if (step > 1 && group.bytes > LARGEST_GROUP)
      throw new UserError(
        "PARQUET_ROW_GROUP",
        `${table.path} has a row group of ${group.bytes} bytes without a page index: it does not fit into memory`,
        { hint: "write it again with row_group_size=100 or write_page_index=True" },
      );
    for (let from = group.from; from < group.to; from += step) {
      signal?.throwIfAborted();
      const read = await readRows(table, { from, to: Math.min(from + step, group.to) });
      for (const [offset, row] of read.entries()) yield { row: withTurns(row), index: from + offset };
    }
  }
}

function unitsOf(file: string, { groups }: ParquetTable): Unit[] {
  const parts: RowGroupSpan[][] = [];
  let bytes = Infinity;
  for (const group of groups) {
    if (bytes + group.bytes > UNIT_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(group);
    bytes += group.bytes;
  }
  return parts.map((part, index) => ({
    name: parts.length === 1 ? file : `${file}#${index + 1}`,
    file,
    groups: part,
  }));
}

const has = (groups: readonly RowGroupSpan[], row: number): boolean =>
  groups.some(({ from, to }) => from <= row && row < to);
