import type { RefusedPack } from "../../../dataset/index.ts";
import { countText } from "../../quantities.ts";
import { pairLines } from "../../table.ts";
import { wrap } from "../../wrap.ts";
import { findRole } from "./find-role.ts";
import { countReasons, dropTable } from "./drop-table.ts";
import type { Scene } from "./show.ts";

/** What a refused pack would have left out (of a role), and the gates that refused it. */
export const showRefused = (
  { name, role, context }: Omit<Scene, "lock" | "spec">,
  { gates, drops, roles, lockSha256 }: RefusedPack,
): void => {
  const { print, columns } = context;
  const found = role === undefined ? undefined : findRole({ roles }, role);
  const list = drops.filter((drop) => !found || [found.stem, found.id].includes(drop.role));
  const byReason = countReasons(list);
  const problems = gates.flatMap((gate) => [
    `gate ${gate.name}: VIOLATED by ${countText(gate.problems.length)}`,
    ...gate.problems.map((problem) => `    ${problem}`),
  ]);
  print.result({ name, role: found?.id ?? null, refused: true, byReason, drops: list, gates }, () => [
    `of the last pack of ${name}, which was refused`,
    "",
    ...problems.flatMap((line) => wrap(line, columns)),
    "",
    ...(list.length === 0
      ? [`nothing was dropped${found ? ` of ${found.name}` : ""}`]
      : [
          ...pairLines(Object.entries(byReason).map(([reason, count]) => [reason, countText(count)])),
          "",
          ...dropTable(list, { style: print.style, columns }),
        ]),
  ]);
  if (lockSha256 !== null)
    print.warn(`the lock of the pack before stands as it was: understudy dataset show ${name}`);
};
