import type { DatasetLock } from "../../../dataset/index.ts";
import { countText } from "../../quantities.ts";
import type { Style } from "../../style.ts";
import { pairLines, tableLines } from "../../table.ts";
import { findRole } from "./find-role.ts";
import type { Scene } from "./show.ts";

/** Every dialogue that was left out (of a role), with its place in the source and the reason. */
export const showDrops = async ({ name, lock, role, context }: Scene): Promise<void> => {
  const { print, columns } = context;
  const found = role === undefined ? undefined : findRole(lock, role);
  const list = lock.drops.list.filter((drop) => !found || [found.stem, found.id].includes(drop.role));
  print.result({ name, role: found?.id ?? null, byReason: countReasons(list), drops: list }, () =>
    list.length === 0
      ? [`nothing was dropped${found ? ` of ${found.name}` : ""}`]
      : [
          ...pairLines(
            Object.entries(countReasons(list)).map(([reason, count]) => [reason, countText(count)]),
          ),
          "",
          ...dropTable(list, { style: print.style, columns }),
        ],
  );
};

function countReasons(list: DatasetLock["drops"]["list"]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of list) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

/** Drops as a table. */
export const dropTable = (
  drops: DatasetLock["drops"]["list"],
  { style, columns }: { readonly style: Style; readonly columns: number },
): string[] =>
  tableLines({
    width: columns,
    columns: [
      { title: "reason" },
      { title: "role" },
      { title: "dialogue" },
      { title: "turn", align: "right" },
      { title: "what is wrong", below: true },
    ],
    rows: drops.map(({ reason, role, dialogue, turn, detail }) => [
      reason,
      role,
      dialogue,
      turn === null ? "" : String(turn),
      detail,
    ]),
    title: style.bold,
  });

/** Every near-duplicate that was left out (of a role), with the dialogue that it resembles. */
export const showNear = async ({ name, lock, role, context }: Scene): Promise<void> => {
  const { print, columns } = context;
  const { nearDuplicates } = lock;
  const found = role === undefined ? undefined : findRole(lock, role);
  const removed = (nearDuplicates?.removed ?? []).filter((one) => !found || one.role === found.id);
  print.result(
    { name, role: found?.id ?? null, nearDuplicates: nearDuplicates && { ...nearDuplicates, removed } },
    () => {
      if (!nearDuplicates) return ["near-duplicates were not looked for: the spec has no nearDuplicates"];
      const models = Object.entries(nearDuplicates.embedders).flatMap(([language, model]) =>
        model
          ? [
              [
                language,
                `${model.fingerprint.model}, cosine above ${model.threshold}, ${countText(model.compared)} texts compared`,
              ] as const,
            ]
          : [],
      );
      return [
        ...pairLines([
          ["rule", nearDuplicates.rule],
          ["compared", nearDuplicates.text === "first_user" ? "first questions" : "whole dialogues"],
          ...models,
          ["left out", countText(removed.length)],
        ]),
        ...(removed.length === 0
          ? []
          : [
              "",
              ...tableLines({
                width: columns,
                columns: [
                  { title: "left out" },
                  { title: "because" },
                  { title: "cosine", align: "right" },
                  { title: "near to", below: true },
                ],
                rows: removed.map(({ id, because, cosine, pivot }) => [
                  id,
                  because === "near_test" ? "near a test dialogue" : "near another",
                  cosine === null ? "same" : cosine.toFixed(4),
                  pivot,
                ]),
                title: print.style.bold,
              }),
            ]),
      ];
    },
  );
};
