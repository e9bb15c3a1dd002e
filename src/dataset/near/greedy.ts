import { BLOCK_ROWS, Cosines } from "./cosines.ts";
import type { NearRow } from "./near-row.ts";
import type { VectorTable } from "./table.ts";

/**
 * Keep-first: in the order of the ids, a row is removed by the first kept row whose cosine with it is over the threshold.
 * Removed rows remove nobody. One entry per removed row, by row.
 */
export const greedy = async (
  table: VectorTable,
  threshold: number,
  signal?: AbortSignal,
): Promise<NearRow[]> => {
  const rows = table.ids.length;
  const limit = Math.fround(threshold);
  const removed = new Map<number, NearRow>();
  // 1 once a row was removed or has removed what it can.
  const settled = new Uint8Array(rows);
  const cosines = new Cosines(table, signal);
  const columns = new Int32Array(rows);
  for (let pivots = unsettled(settled); pivots.length > 0; pivots = unsettled(settled)) {
    const count = unsettledAfter(pivots[0] ?? 0, settled, columns);
    await cosines.compute(table, pivots, { columns, count });
    for (const [index, pivot] of pivots.entries()) {
      // An earlier one of this block may have removed it.
      if (settled[pivot] === 1) continue;
      settled[pivot] = 1;
      for (const column of cosines.over(index, limit, count)) {
        const row = columns[column] ?? 0;
        if (settled[row] === 1) continue;
        settled[row] = 1;
        removed.set(row, { row, pivot, cosine: cosines.at(index, column), cluster: pivot });
      }
    }
  }
  return [...removed.values()].toSorted((a, b) => a.row - b.row);
};

// The next rows to compare with the rest.
function unsettled(settled: Uint8Array): number[] {
  const rows: number[] = [];
  for (
    let row = settled.indexOf(0);
    row !== -1 && rows.length < BLOCK_ROWS;
    row = settled.indexOf(0, row + 1)
  )
    rows.push(row);
  return rows;
}

// Fills `columns` with the unsettled rows after `first`; returns how many they are.
function unsettledAfter(first: number, settled: Uint8Array, columns: Int32Array): number {
  let count = 0;
  for (let row = settled.indexOf(0, first + 1); row !== -1; row = settled.indexOf(0, row + 1)) {
    columns[count] = row;
    count += 1;
  }
  return count;
}
