import { createReadStream } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { CsvError, parse, type Options } from "csv-parse";
import { parse as parseSync } from "csv-parse/sync";
import { basename } from "node:path";
import { z } from "zod";
import { UserError } from "../../core/errors.ts";
import { ByteFault, utf8Text, refuseUtf16 } from "../json/bytes.ts";
import { csvFault, otherDivider } from "./csv-fault.ts";
import { sourceChanged } from "./release.ts";

/** A dialogue of a CSV manifest: the record that its rows make, and bytes [start, end) of them. */
export interface CsvDialogue {
  readonly raw: unknown;
  readonly index: number;
  readonly start: number;
  readonly end: number;
  /** Of its first row, 1-based. */
  readonly line: number;
}

type Row = Readonly<Record<string, string>>;

const REQUIRED = ["dialogue_id", "role_id", "user_text", "user_audio", "role_text"];
const OF_TURN = new Set([
  "user_text",
  "user_audio",
  "role_text",
  "role_audio",
  "role_audio_cosyvoice2",
  "role_audio_f5_tts",
  "role_audio_e2_tts",
]);
const LONGEST_ROW = 1 << 28;
// Bytes, so that what is not UTF-8 is told instead of replaced.
const FORM: Options = {
  encoding: null,
  record_delimiter: ["\r\n", "\n", "\r"],
  skip_empty_lines: true,
  max_record_size: LONGEST_ROW,
};
// A record with its place, as the stream gives it where `info` is asked for.
const Placed = z.object({
  record: z.array(z.instanceof(Uint8Array)),
  info: z.object({ bytes: z.int(), lines: z.int() }),
});
type Placed = z.infer<typeof Placed>;

/**
 * Dialogues of a CSV file with one turn in each row; the rows of a dialogue stand together and have the same
 * `dialogue_id`. Columns of the dialogue may be empty after its first row. UserError `CSV_INVALID` with file and line.
 */
export async function* csvDialogues(path: string, signal?: AbortSignal): AsyncGenerator<CsvDialogue> {
  const seen = new Set<string>();
  let rows: Row[] = [];
  let open = { index: 0, start: 0, end: 0, line: 0 };
  const finish = (): CsvDialogue => ({ ...open, raw: recordOf(rows, `${path}:${open.line}`) });
  for await (const { row, start, end, line } of csvRows(path, signal)) {
    const id = row["dialogue_id"] ?? "";
    if (id === "") throw invalid(`${path}:${line}`, "this row has no dialogue_id");
    if (rows[0]?.["dialogue_id"] === id) {
      rows.push(row);
      open = { ...open, end };
      continue;
    }
    if (seen.has(id)) throw invalid(`${path}:${line}`, `the rows of dialogue "${id}" do not stand together`);
    seen.add(id);
    if (rows.length > 0) yield finish();
    open = { index: seen.size - 1, start, end, line };
    rows = [row];
  }
  if (rows.length > 0) yield finish();
}

const Rows = z.array(z.array(z.instanceof(Uint8Array)));

/** The record of a dialogue from the bytes of its rows. UserErrors `SOURCE_CHANGED`, `CSV_INVALID`. */
export const csvRecord = async (path: string, bytes: Uint8Array): Promise<unknown> => {
  const columns = await header(path);
  try {
    const rows = Rows.parse(parseSync(Buffer.from(bytes), FORM));
    return recordOf(
      rows.map((cells) => rowOf(columns, cells)),
      path,
    );
  } catch (error) {
    // They were rows when they were read first.
    if (error instanceof CsvError || error instanceof ByteFault) throw sourceChanged(basename(path));
    throw error;
  }
};

interface PlacedRow {
  readonly row: Row;
  readonly start: number;
  readonly end: number;
  readonly line: number;
}

async function* csvRows(path: string, signal: AbortSignal | undefined): AsyncGenerator<PlacedRow> {
  const divider = await otherDivider(path, [...REQUIRED, ...OF_TURN]);
  if (divider !== undefined)
    throw invalid(
      `${path}:1`,
      `the columns seem to be divided by ${divider === "\t" ? "tabs" : `"${divider}"`}; commas are needed`,
    );
  let columns: readonly string[] | undefined;
  let start = 0;
  let line = 1;
  try {
    for await (const { record: cells, info } of records(path, signal)) {
      const end = info.bytes;
      if (columns === undefined) columns = requireColumns(namesOf(cells), path);
      else yield { row: rowOf(columns, cells), start, end, line };
      start = end;
      line = info.lines + 1;
    }
    if (columns === undefined) throw invalid(path, "it is empty: its first line must name the columns");
  } catch (error) {
    if (error instanceof CsvError) {
      const fault = csvFault(error);
      throw invalid(fault.line === undefined ? path : `${path}:${fault.line}`, fault.message);
    }
    if (error instanceof ByteFault) throw invalid(`${path}:${line}`, error.message);
    throw error;
  }
}

async function* records(path: string, signal: AbortSignal | undefined): AsyncGenerator<Placed> {
  const mark = await markLength(path);
  const input = createReadStream(path, { start: mark, ...(signal ? { signal } : {}) });
  const parser = parse({ ...FORM, info: true });
  input.on("error", (error) => parser.destroy(error));
  try {
    for await (const placed of input.pipe(parser)) {
      const { record, info } = Placed.parse(placed);
      yield { record, info: { ...info, bytes: info.bytes + mark } };
    }
  } finally {
    input.destroy();
  }
}

// The parser knows the mark too, but gives text then, and no bytes.
async function markLength(path: string): Promise<number> {
  const file = await openFile(path, "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(3), 0, 3, 0);
    refuseUtf16(buffer);
    return buffer.equals(MARK) ? MARK.length : 0;
  } finally {
    await file.close();
  }
}

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

async function header(path: string): Promise<readonly string[]> {
  for await (const { record } of records(path, undefined)) return namesOf(record);
  return [];
}

const namesOf = (cells: readonly Uint8Array[]): readonly string[] =>
  cells.map((cell) => utf8Text(cell, 1).trim());

function requireColumns(columns: readonly string[], path: string): readonly string[] {
  const missing = REQUIRED.filter((name) => !columns.includes(name));
  if (missing.length > 0)
    throw invalid(path, `it has no column ${missing.join(", ")}; it has ${columns.join(", ")}`);
  const twice = columns.find((name, index) => name !== "" && columns.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(path, `it has the column ${twice} twice`);
  return columns;
}

const rowOf = (columns: readonly string[], cells: readonly Uint8Array[]): Row =>
  Object.fromEntries(columns.map((name, index) => [name, utf8Text(cells[index] ?? new Uint8Array(), 1)]));

function recordOf(rows: readonly Row[], place: string): unknown {
  const [first = {}] = rows;
  for (const row of rows)
    for (const [name, value] of Object.entries(row))
      if (!OF_TURN.has(name) && value !== "" && value !== first[name])
        throw invalid(
          place,
          `the rows of this dialogue disagree on ${name}: "${first[name]}" and "${value}"`,
        );
  const given = (row: Row, isTurn: boolean): Record<string, string> =>
    Object.fromEntries(
      Object.entries(row).filter(
        ([name, value]) => OF_TURN.has(name) === isTurn && (value !== "" || name.endsWith("_text")),
      ),
    );
  return { ...given(first, false), turns: rows.map((row) => given(row, true)) };
}

const invalid = (place: string, message: string): UserError =>
  new UserError("CSV_INVALID", `${place}: ${message}`, {
    hint: "one turn in each row, with the columns that datasets/README.md lists",
  });
