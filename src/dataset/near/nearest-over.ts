import { BLOCK_ROWS, Cosines } from "./cosines.ts";
import type { NearRow } from "./near-row.ts";
import type { VectorTable } from "./table.ts";

/**
 * Rows of `table` whose cosine with any row of `others` is over the threshold, by row; `pivot` and `cluster` are the row of
 * `others` that is nearest, the first of equals.
 */
export const nearestOver = async (
  table: VectorTable,
  others: VectorTable,
  { threshold, signal }: { readonly threshold: number; readonly signal?: AbortSignal | undefined },
): Promise<NearRow[]> => {
  const count = table.ids.length;
  const limit = Math.fround(threshold);
  const found = new Map<number, NearRow>();
  const cosines = new Cosines(table, signal);
  const columns = Int32Array.from({ length: count }, (_, row) => row);
  for (let first = 0; first < others.ids.length; first += BLOCK_ROWS) {
    const length = Math.min(BLOCK_ROWS, others.ids.length - first);
    const pivots = Array.from({ length }, (_, index) => first + index);
    await cosines.compute(others, pivots, { columns, count });
    for (const [index, pivot] of pivots.entries()) {
      for (const row of cosines.over(index, limit, count)) {
        const cosine = cosines.at(index, row);
        if (cosine > (found.get(row)?.cosine ?? -Infinity))
          found.set(row, { row, pivot, cosine, cluster: pivot });
      }
    }
  }
  return [...found.values()].toSorted((a, b) => a.row - b.row);
};
