import type { Cell } from "./cell.ts";

const MINUS = "\u2212";

/** Fixed decimals with a real minus sign; a value that rounds to zero has no sign. */
export const fixed = (value: number, digits: number): string => {
  const text = value.toFixed(digits);
  const negative = text.startsWith("-") && Number(text) !== 0;
  const [whole = "", fraction] = text.replace("-", "").split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${negative ? MINUS : ""}${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
};

const COMPARISONS = new Set(["difference", "generalisation", "role"]);

/** What stands in place of a number that does not exist. */
export const NOTHING = "\u2014";

/** `0.42`; exact zeros of a comparison are `0`, so that they are told from rounded ones. */
export const estimateText = ({ estimate, digits, table }: Cell): string => {
  if (estimate === null) return NOTHING;
  return estimate === 0 && COMPARISONS.has(table) ? "0" : fixed(estimate, digits);
};

/** `[0.31, 0.53]`, or nothing when there is no interval. */
export const intervalText = ({ lo, hi, digits }: Cell): string => {
  if (lo === null || hi === null) return "";
  return lo === 0 && hi === 0 ? "[0, 0]" : `[${fixed(lo, digits)}, ${fixed(hi, digits)}]`;
};

/** The one text of a cell: `0.42 [0.31, 0.53]`. Every format of the report shows exactly this. */
export const cellText = (cell: Cell): string =>
  [estimateText(cell), intervalText(cell)].filter(Boolean).join(" ");

/** The unit behind a label: nothing for pure numbers, and nothing that the label already says. */
export const unitText = ({ unit }: Pick<Cell, "unit">, label = ""): string =>
  unit === "1" || label.toLowerCase().endsWith(unit === "1/s" ? " per second" : unit) ? "" : unit;

/** `11/12` */
export const coverageOfCell = ({ scored, expected }: Cell): string =>
  scored === null || expected === null ? "" : `${scored}/${expected}`;

/** `3 roles`, `1 role` */
export const count = (n: number, singular: string, plural = `${singular}s`): string =>
  `${fixed(n, 0)} ${n === 1 ? singular : plural}`;

/** First letter in upper case. */
export const sentenceCase = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
