import { setImmediate as turn } from "node:timers/promises";
import type { VectorTable } from "./table.ts";

/** Rows that are compared at once. The block sizes change the speed alone: each cosine is one sum in one order. */
export const BLOCK_ROWS = 4;
// About 50 ms of work: other work of the process, and an abort, come in between.
const PRODUCTS_PER_TURN = 100_000_000;

/**
 * Cosines of up to BLOCK_ROWS rows of one table with rows of another. Each is summed in doubles from the first component to
 * the last and rounded to float32: the same on every machine, for any block and any order of the calls.
 */
export class Cosines {
  readonly #table: VectorTable;
  readonly #pivots: Float64Array;
  readonly #out: Float64Array;
  readonly #signal: AbortSignal | undefined;
  #products = 0;

  constructor(table: VectorTable, signal?: AbortSignal) {
    this.#table = table;
    this.#pivots = new Float64Array(BLOCK_ROWS * table.dimension);
    this.#out = new Float64Array(BLOCK_ROWS * table.ids.length);
    this.#signal = signal;
  }

  /** Compares `rows` of `from` with the `count` first of `columns`. */
  async compute(
    from: VectorTable,
    rows: readonly number[],
    { columns, count }: { readonly columns: Int32Array; readonly count: number },
  ): Promise<void> {
    const { dimension, values } = this.#table;
    this.#products += BLOCK_ROWS * count * dimension;
    if (this.#products > PRODUCTS_PER_TURN) {
      this.#products = 0;
      await turn();
      this.#signal?.throwIfAborted();
    }
    for (let row = 0; row < BLOCK_ROWS; row += 1) {
      const start = (rows[row] ?? -1) * dimension;
      for (let k = 0; k < dimension; k += 1)
        this.#pivots[k * BLOCK_ROWS + row] = start < 0 ? 0 : (from.values[start + k] ?? 0);
    }
    for (let column = 0; column < count; column += 2) {
      // The last of an odd number is computed twice.
      const other = column + 1 < count ? column + 1 : column;
      const offsets: Pair = [(columns[column] ?? 0) * dimension, (columns[other] ?? 0) * dimension];
      eightProducts({ values, pivots: this.#pivots, dimension, out: this.#out }, offsets, [
        column * BLOCK_ROWS,
        other * BLOCK_ROWS,
      ]);
    }
  }

  /** The cosine of `rows[row]` with `columns[column]` of the last call. */
  at(row: number, column: number): number {
    return Math.fround(this.#out[column * BLOCK_ROWS + row] ?? 0);
  }

  /** Columns, of the `count` first of the last call, whose cosine with `rows[row]` is over `limit`, a float32 number. */
  over(row: number, limit: number, count: number): number[] {
    const found: number[] = [];
    for (let column = 0; column < count; column += 1) if (this.at(row, column) > limit) found.push(column);
    return found;
  }
}

type Pair = readonly [number, number];

interface Block {
  readonly values: Float32Array;
  /** BLOCK_ROWS rows, their components side by side. */
  readonly pivots: Float64Array;
  readonly dimension: number;
  readonly out: Float64Array;
}

// Four rows with two columns: each number that is loaded is used several times, and eight sums do not wait for each other.
function eightProducts({ values, pivots, dimension, out }: Block, [left, right]: Pair, [a, b]: Pair): void {
  let a0 = 0;
  let a1 = 0;
  let a2 = 0;
  let a3 = 0;
  let b0 = 0;
  let b1 = 0;
  let b2 = 0;
  let b3 = 0;
  for (let k = 0, p = 0; k < dimension; k += 1, p += BLOCK_ROWS) {
    const x = values[left + k] ?? 0;
    const y = values[right + k] ?? 0;
    const p0 = pivots[p] ?? 0;
    const p1 = pivots[p + 1] ?? 0;
    const p2 = pivots[p + 2] ?? 0;
    const p3 = pivots[p + 3] ?? 0;
    a0 += x * p0;
    a1 += x * p1;
    a2 += x * p2;
    a3 += x * p3;
    b0 += y * p0;
    b1 += y * p1;
    b2 += y * p2;
    b3 += y * p3;
  }
  out[a] = a0;
  out[a + 1] = a1;
  out[a + 2] = a2;
  out[a + 3] = a3;
  out[b] = b0;
  out[b + 1] = b1;
  out[b + 2] = b2;
  out[b + 3] = b3;
}
