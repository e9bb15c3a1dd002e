import { countText } from "../../quantities.ts";
import { pairLines, tableLines } from "../../table.ts";
import { countReasons, dropTable } from "./drop-table.ts";
import { findRole } from "./find-role.ts";
import type { Scene } from "./show.ts";

/** Every dialogue that was left out (of a role), with its place in the source and the reason. */
export const showDrops = ({ name, lock, spec, role, context }: Scene): void => {
  const { print, columns } = context;
  const found = role === undefined ? undefined : findRole(lock, role);
  const list = lock.drops.list.filter((drop) => !found || [found.stem, found.id].includes(drop.role));
  const byReason = countReasons(list);
  const value = { name, role: found?.id ?? null, specChanged: spec.changed, refused: false, byReason };
  print.result({ ...value, drops: list }, () =>
    list.length === 0
      ? [`nothing was dropped${found ? ` of ${found.name}` : ""}`]
      : [
          ...pairLines(Object.entries(byReason).map(([reason, count]) => [reason, countText(count)])),
          "",
          ...dropTable(list, { style: print.style, columns }),
        ],
  );
};

/** Every near-duplicate that was left out (of a role), with the dialogue that it resembles. */
export const showNear = ({ name, lock, spec, role, context }: Scene): void => {
  const { print, columns } = context;
  const { nearDuplicates } = lock;
  const found = role === undefined ? undefined : findRole(lock, role);
  const removed = (nearDuplicates?.removed ?? []).filter((one) => !found || one.role === found.id);
  print.result(
    {
      name,
      role: found?.id ?? null,
      specChanged: spec.changed,
      nearDuplicates: nearDuplicates && { ...nearDuplicates, removed },
    },
    () => {
      if (!nearDuplicates)
        return [
          `near-duplicates were not looked for: ${spec.changed ? "it was packed with a spec without" : "the spec has no"} nearDuplicates`,
        ];
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
        ...pairLines(
          [
            ["rule", nearDuplicates.rule],
            ["compared", nearDuplicates.text === "first_user" ? "first questions" : "whole dialogues"],
            ...models,
            ["left out", countText(removed.length)],
          ],
          columns,
        ),
        ...(removed.length === 0
          ? []
          : [
              "",
              ...tableLines({
                width: columns,
                columns: [
                  { title: "left out" },
                  { title: "because", below: true },
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
