import { join } from "node:path";
import { parquetFiles, poolOfFile } from "../source/parquet-files.ts";
import { openTable, readRows, type ParquetTable } from "../source/parquet-table.ts";
import { withTurns } from "../source/parquet-turns.ts";
import { recordProblem } from "../source/plain-record.ts";
import type { Found } from "../source/source.ts";
import { nfc } from "../text.ts";
import { LooseRecord, RecordCounts } from "./scan-records.ts";
import type { Scan, ScanOptions } from "./scan.ts";

/** Reads a table, or those of a folder, all but a few rows without their turns, and says what is in them. */
export const scanParquet = async (path: string, options: ScanOptions): Promise<Scan> => {
  const counts = new RecordCounts();
  const files = await parquetFiles(path);
  for (const name of files.names) {
    counts.begin(name);
    const table = await openTable(join(files.base, name));
    for (const { from, to } of table.groups) {
      options.signal?.throwIfAborted();
      const rows = await readRows(table, { from, to }, SHORT_COLUMNS);
      for (const [offset, row] of rows.entries()) {
        const index = from + offset;
        const raw = await withLanguage(row, { table, index }, counts);
        learn(raw, { pool: poolOfFile(name), place: `${name} row ${index}` }, counts);
      }
    }
    options.onProgress?.(name);
  }
  return counts.scan("parquet");
};

const SHORT_COLUMNS = ["role_id", "role_name", "role_source", "language", "split", "num_turns"];

// Of a role whose language nothing says, the first row is read whole.
async function withLanguage(
  row: Readonly<Record<string, unknown>>,
  { table, index }: { readonly table: ParquetTable; readonly index: number },
  { roles }: RecordCounts,
): Promise<unknown> {
  const roleId = row["role_id"];
  if (typeof roleId !== "string") return row;
  const { han, latin } = roles.of(nfc(roleId));
  if (typeof row["language"] === "string" || han + latin > 0) return row;
  const [whole] = await readRows(table, { from: index, to: index + 1 });
  return whole && withTurns(whole);
}

function learn(
  raw: unknown,
  { pool, place }: { readonly pool: Found["pool"]; readonly place: string },
  counts: RecordCounts,
): void {
  const parsed = LooseRecord.safeParse(raw);
  if (parsed.success) counts.learn(parsed.data, pool);
  else counts.refuse(recordProblem(parsed.error, raw), place);
}
