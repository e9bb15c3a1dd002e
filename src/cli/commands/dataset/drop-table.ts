import type { DatasetLock } from "../../../dataset/index.ts";
import type { Style } from "../../style.ts";
import { tableLines } from "../../table.ts";

type Drops = DatasetLock["drops"]["list"];

/** Drops by reason, in the order of the list. */
export const countReasons = (list: Drops): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { reason } of list) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
};

// On a terminal; a pipe gets names whole.
const LONGEST_ROLE = 24;

/** Drops as a table. Turns are counted from 1, as people do; in JSON from 0. */
export const dropTable = (
  drops: Drops,
  { style, columns }: { readonly style: Style; readonly columns: number },
): string[] =>
  tableLines({
    width: columns,
    columns: [
      { title: "reason" },
      { title: "role", ...(Number.isFinite(columns) ? { most: LONGEST_ROLE } : {}) },
      { title: "dialogue", below: true },
      { title: "turn", align: "right" },
      { title: "what is wrong", below: true },
    ],
    rows: drops.map(({ reason, role, dialogue, turn, detail }) => [
      reason,
      role,
      dialogue,
      turn === null ? "" : String(turn + 1),
      detail,
    ]),
    title: style.bold,
  });
