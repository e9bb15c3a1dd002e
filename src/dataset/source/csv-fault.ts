import { open as openFile } from "node:fs/promises";
import type { CsvError } from "csv-parse";

// What the parser says holds cells, and its settings, as lists of bytes: only the numbers of it are taken.
const NUMBERS = /expect (\d+), got (\d+)/;

/** What is no CSV about a file, and the line that it was found at, 1-based; undefined where it is not told. */
export const csvFault = (
  error: CsvError,
): { readonly line: number | undefined; readonly message: string } => {
  const line = typeof error["lines"] === "number" ? error["lines"] : undefined;
  return { line, message: messageOf(error) };
};

function messageOf({ code, message }: CsvError): string {
  const [, columns, cells] = NUMBERS.exec(message) ?? [];
  if (code === "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH" && cells !== undefined)
    return `this row has ${cells} cells, and the first line names ${columns} columns`;
  return TEXTS.get(code) ?? `it cannot be read as CSV (${code})`;
}

const QUOTES = 'put the cell into quotes, and write a quote inside it twice: "he said ""so"""';
const TEXTS: ReadonlyMap<string, string> = new Map([
  ["INVALID_OPENING_QUOTE", `a quote stands within a cell: ${QUOTES}`],
  ["CSV_INVALID_CLOSING_QUOTE", `a cell goes on after its closing quote: ${QUOTES}`],
  ["CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE", `a cell goes on after its closing quote: ${QUOTES}`],
  ["CSV_QUOTE_NOT_CLOSED", "the file ends within a cell: a quote before this is not closed"],
  ["CSV_MAX_RECORD_SIZE", "this row does not end: a quote before this may not be closed"],
]);

const OTHERS = [";", "\t", "|"] as const;
const LONGEST_HEAD = 1 << 16;

/**
 * What the columns of the first line are divided by where it is no comma: as a spreadsheet program writes them in many
 * countries. At least two of the known names must come out of it.
 */
export const otherDivider = async (path: string, known: readonly string[]): Promise<string | undefined> => {
  const file = await openFile(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_HEAD), 0, LONGEST_HEAD, 0);
    const head = buffer.toString("utf8", 0, bytesRead).replace(/^\ufeff/, "");
    // A spreadsheet program may say it itself, in a line before the names.
    const said = /^"?sep=(.)"?\r?\n/i.exec(head)?.[1];
    const first =
      (said === undefined ? head : head.slice(head.indexOf("\n") + 1)).split(/[\r\n]/, 1)[0] ?? "";
    const found = (divider: string): number =>
      first.split(divider).filter((cell) => known.includes(cell.trim().replaceAll('"', ""))).length;
    return OTHERS.find((divider) => found(divider) > 1 && found(divider) > found(","));
  } finally {
    await file.close();
  }
};
