import { BLOCK_ROWS, Cosines } from "./cosines.ts";
import type { NearRow } from "./near-row.ts";
import type { VectorTable } from "./table.ts";

/**
 * Single linkage: rows that a chain of pairs over the threshold joins are one cluster, of which the first id is kept. One
 * entry per removed row, by row; its pivot is its nearest row, the first of equals.
 */
export const components = async (
  table: VectorTable,
  threshold: number,
  signal?: AbortSignal,
): Promise<NearRow[]> => {
  const rows = table.ids.length;
  const limit = Math.fround(threshold);
  const clusters = new Clusters(rows);
  const nearest = new Int32Array(rows).fill(-1);
  const best = new Float32Array(rows).fill(-Infinity);
  const see = (row: number, other: number, cosine: number): void => {
    if (!(cosine > (best[row] ?? 0))) return;
    best[row] = cosine;
    nearest[row] = other;
  };
  const cosines = new Cosines(table, signal);
  const columns = new Int32Array(rows);
  for (let first = 0; first < rows; first += BLOCK_ROWS) {
    const pivots = Array.from({ length: Math.min(BLOCK_ROWS, rows - first) }, (_, index) => first + index);
    let count = 0;
    for (let row = first + 1; row < rows; row += 1) columns[count++] = row;
    await cosines.compute(table, pivots, { columns, count });
    for (const [index, pivot] of pivots.entries()) {
      for (const column of cosines.over(index, limit, count)) {
        const row = columns[column] ?? 0;
        // Of a pair within the block the earlier one speaks.
        if (row <= pivot) continue;
        const cosine = cosines.at(index, column);
        clusters.join(pivot, row);
        see(pivot, row, cosine);
        see(row, pivot, cosine);
      }
    }
  }
  return [...nearest].flatMap((pivot, row): NearRow[] => {
    const cluster = clusters.first(row);
    return cluster === row ? [] : [{ row, pivot, cosine: best[row] ?? 0, cluster }];
  });
};

/** Disjoint sets of rows, each known by its first. */
class Clusters {
  readonly #parent: Int32Array;

  constructor(rows: number) {
    this.#parent = Int32Array.from({ length: rows }, (_, row) => row);
  }

  first(row: number): number {
    let top = row;
    for (let up = this.#up(top); up !== top; up = this.#up(top)) {
      this.#parent[top] = this.#up(up);
      top = this.#up(top);
    }
    return top;
  }

  join(a: number, b: number): void {
    const [first, second] = [this.first(a), this.first(b)];
    this.#parent[Math.max(first, second)] = Math.min(first, second);
  }

  #up(row: number): number {
    return this.#parent[row] ?? row;
  }
}
