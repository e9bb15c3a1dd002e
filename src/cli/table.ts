import { cutText, textWidth } from "./text-width.ts";
import { wrap } from "./wrap.ts";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** Longer cells are cut with an ellipsis; `--json` has them whole. */
  readonly most?: number;
  /** Stands on lines of its own below the row where the terminal is too narrow for the whole table. */
  readonly below?: true;
}

export interface TableOptions {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** Columns of the terminal. Default: any number. */
  readonly width?: number;
  /** Emphasis of the title line. Default: none. */
  readonly title?: (text: string) => string;
}

const GAP = "  ";

/** Lines of a table aligned by what a terminal shows, so that 金葫芦 takes six columns. */
export const tableLines = (options: TableOptions): string[] => {
  const { columns, rows, width = Infinity, title = (text) => text } = options;
  const cells = rows.map((row) => columns.map((column, at) => cellText(row[at] ?? "", column)));
  const whole = alignedLines(columns, cells, title);
  const fits = whole.every((line) => textWidth(line) <= width);
  return fits || !columns.some(({ below }) => below) ? whole : foldedLines(columns, cells, { width, title });
};

// Where there is room, a last column goes on below itself; else the columns that may stand below the row go there.
function foldedLines(
  columns: readonly Column[],
  cells: readonly (readonly string[])[],
  { width, title }: Required<Pick<TableOptions, "width" | "title">>,
): string[] {
  const kept = columns.flatMap(({ below }, at) => (below ? [] : [at]));
  const folded = columns.flatMap(({ below }, at) => (below ? [at] : []));
  const [head = "", ...lines] = alignedLines(
    kept.flatMap((at) => columns[at] ?? []),
    cells.map((row) => kept.map((at) => row[at] ?? "")),
    (text) => text,
  );
  const taken = Math.max(...[head, ...lines].map(textWidth)) + GAP.length;
  const [only] = folded;
  if (folded.length === 1 && only === columns.length - 1 && width - taken >= NARROWEST) {
    const beside = (line: string, text: string): string[] =>
      hanging(padded(line, taken), text, width).map((part) => part.trimEnd());
    const first = title(`${padded(head, taken)}${columns[only]?.title ?? ""}`);
    return [first, ...lines.flatMap((line, at) => beside(line, cells[at]?.[only] ?? ""))];
  }
  // What stands alone below each row needs no name there.
  const named = (at: number): string => (folded.length === 1 ? "" : `${columns[at]?.title ?? ""}: `);
  const under = (row: readonly string[]): string[] =>
    folded.flatMap((at) => (row[at] ? hanging(INDENT, `${named(at)}${row[at]}`, width) : []));
  return [title(head), ...lines.flatMap((line, at) => [line, ...under(cells[at] ?? [])])];
}

function alignedLines(
  columns: readonly Column[],
  cells: readonly (readonly string[])[],
  title: (text: string) => string,
): string[] {
  const widths = columns.map((column, at) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[at] ?? ""))),
  );
  const line = (row: readonly string[]): string =>
    columns
      .map(({ align }, at) => padded(row[at] ?? "", widths[at] ?? 0, align))
      .join(GAP)
      .trimEnd();
  return [title(line(columns.map((column) => column.title))), ...cells.map(line)];
}

const INDENT = "    ";
// Less room than this makes a column of single words.
const NARROWEST = 20;

/** Two columns without titles, indented: `  steps  100`. Values are wrapped under themselves in `width` columns. */
export const pairLines = (pairs: readonly (readonly [string, string])[], width = Infinity): string[] => {
  const names = Math.max(0, ...pairs.map(([name]) => textWidth(name)));
  return pairs.flatMap(([name, value]) => hanging(`  ${padded(name, names)}${GAP}`, value, width));
};

// The text after a head; what does not fit in its line goes on below the text.
function hanging(head: string, text: string, width: number): string[] {
  const room = width - textWidth(head);
  const lines = room < NARROWEST ? [text] : wrap(text, room);
  const space = " ".repeat(textWidth(head));
  return lines.map((line, at) => `${at === 0 ? head : space}${line}`.trimEnd());
}

/** The text with spaces up to a width in terminal columns. */
export const padded = (text: string, width: number, align?: "right"): string => {
  const space = " ".repeat(Math.max(0, width - textWidth(text)));
  return align === "right" ? space + text : text + space;
};

// A role name or a reply may hold anything; a control character in it must not move the cursor.
function cellText(text: string, { most }: Column): string {
  const shown = text.replace(/\p{Cc}+/gu, " ");
  return most === undefined ? shown : cutText(shown, most);
}
