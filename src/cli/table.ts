import { cutText, textWidth } from "./text-width.ts";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** Longer cells are cut with an ellipsis; `--json` has them whole. */
  readonly most?: number;
}

export interface TableOptions {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** Emphasis of the title line. Default: none. */
  readonly title?: (text: string) => string;
}

const GAP = "  ";

/** Lines of a table aligned by what a terminal shows, so that 金葫芦 takes six columns. */
export const tableLines = ({ columns, rows, title = (text) => text }: TableOptions): string[] => {
  const cells = rows.map((row) => columns.map((column, at) => cellText(row[at] ?? "", column)));
  const widths = columns.map((column, at) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[at] ?? ""))),
  );
  const line = (row: readonly string[]): string =>
    columns
      .map(({ align }, at) => padded(row[at] ?? "", widths[at] ?? 0, align))
      .join(GAP)
      .trimEnd();
  return [title(line(columns.map((column) => column.title))), ...cells.map(line)];
};

/** Two columns without titles, indented: `  steps  100`. */
export const pairLines = (pairs: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(0, ...pairs.map(([name]) => textWidth(name)));
  return pairs.map(([name, value]) => `  ${padded(name, width)}${GAP}${value}`.trimEnd());
};

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
