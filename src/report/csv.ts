import type { Cell } from "./cell.ts";

const COLUMNS = [
  "table",
  "system",
  "suite",
  "outcome",
  "estimate",
  "lo",
  "hi",
  "n_roles",
  "n_scored",
  "n_expected",
  "unit",
  "reason",
] as const;

// Spreadsheets show non-ASCII text rightly only after this mark.
const BYTE_ORDER_MARK = "\uFEFF";

/** Every cell in full precision: RFC 4180 with a byte order mark, safe to open in a spreadsheet. */
export const reportCsv = (cells: readonly Cell[]): string => {
  const rows = cells.map((cell) => [
    text(cell.table),
    text(cell.system),
    text(cell.suite),
    text(cell.outcome),
    number(cell.estimate),
    number(cell.lo),
    number(cell.hi),
    number(cell.roles),
    number(cell.scored),
    number(cell.expected),
    text(cell.unit),
    text(cell.reason ?? ""),
  ]);
  return `${BYTE_ORDER_MARK}${[COLUMNS, ...rows].map((row) => row.join(",")).join("\r\n")}\r\n`;
};

const number = (value: number | null): string => (value === null ? "" : String(value));

/** Text that a spreadsheet would run as a formula gets an apostrophe in front. Numbers never come this way. */
export const text = (value: string): string => {
  const safe = /^[=+\-@\t\r\n|]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
