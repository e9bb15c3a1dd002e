/** Where a number stands. */
export interface CellAddress {
  readonly table: TableName;
  /** A system id, or `A-vs-B` for a comparison. */
  readonly system: string;
  /** `test/seen`, `test/unseen`, `test` for both, `dev`. */
  readonly suite: string;
  readonly outcome: string;
}

export const TABLES = [
  "level",
  "difference",
  "generalisation",
  "role",
  "checkpoint",
  "dialogue",
  "turn",
] as const;
export type TableName = (typeof TABLES)[number];

/** One number of the report with everything that is needed to doubt it. */
export interface Cell extends CellAddress {
  /** `table/system/suite/outcome`: the `data-cell` of every place that shows it. */
  readonly key: string;
  readonly estimate: number | null;
  /** Bounds of the 95 % interval; null when there is none. */
  readonly lo: number | null;
  readonly hi: number | null;
  /** Roles that have a value. */
  readonly roles: number | null;
  /** Instances with a value, of those that should have one. */
  readonly scored: number | null;
  readonly expected: number | null;
  readonly unit: string;
  /** Why there is no estimate or no interval, or what to know about it; null when there is nothing to say. */
  readonly reason: string | null;
  /** Decimals shown. */
  readonly digits: number;
}

export const cellKey = ({ table, system, suite, outcome }: CellAddress): string =>
  [table, system, suite, outcome].join("/");

type Given = CellAddress & Pick<Cell, "unit" | "digits"> & Partial<Cell>;

/** A cell with what is not given left null. */
export const cell = (given: Given): Cell => ({
  estimate: null,
  lo: null,
  hi: null,
  roles: null,
  scored: null,
  expected: null,
  reason: null,
  ...given,
  key: cellKey(given),
});

/** Table order, then key: the order of every listing. */
export const byCell = (a: Cell, b: Cell): number =>
  TABLES.indexOf(a.table) - TABLES.indexOf(b.table) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
