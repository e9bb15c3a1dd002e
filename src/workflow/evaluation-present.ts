import { basename } from "node:path";
import { foldersOf } from "./evaluate-kind.ts";
import { EVALUATION_KINDS, folderOf, openTasks } from "./evaluation-jobs.ts";
import { distinct, type PlannedCell } from "./evaluation-tasks.ts";
import type { Shop } from "./shop.ts";

/** Says how many rows of an evaluation are there before anything is done for it, and which run's evaluation made them. */
export const tellPresent = async (
  shop: Shop,
  runId: string,
  cells: readonly PlannedCell[],
): Promise<void> => {
  const parts = distinct(cells);
  const present = new Set<string>();
  let rows = 0;
  for (const kind of EVALUATION_KINDS) {
    const open = new Set((await openTasks(kind, cells)).map(({ proof }) => proof.folder));
    for (const cell of parts) {
      const folder = folderOf(kind, cell);
      if (open.has(folder)) continue;
      present.add(basename(folder));
      rows += cell.planned.expected.length;
    }
  }
  if (rows === 0) return;
  const all = EVALUATION_KINDS.length * parts.reduce((sum, { planned }) => sum + planned.expected.length, 0);
  const makers = makersOf(shop, present);
  const own = makers.has(runId) ? ["an earlier evaluation of this run"] : [];
  const others = [...makers].filter((id) => id !== runId).map((id) => `run ${id}`);
  const from = [...own, ...others];
  const whose = from.length === 0 ? "" : ` (from ${from.join(", ")})`;
  const text =
    rows === all
      ? `all ${all} rows were there already${whose}: nothing is done again`
      : `${rows} of ${all} rows were there already${whose}: the others are made now`;
  shop.onProgress({ type: "note", text });
};

/** The training runs whose evaluations have worked on these folders. */
function makersOf(shop: Shop, folders: ReadonlySet<string>): ReadonlySet<string> {
  const made = EVALUATION_KINDS.flatMap((kind) => shop.store.listRuns({ kind })).filter((run) =>
    foldersOf(run).some((folder) => folders.has(basename(folder))),
  );
  return new Set(made.map(({ id, parentId }) => parentId ?? id));
}
