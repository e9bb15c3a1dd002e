import { InternalError } from "../../core/errors.ts";
import { compare } from "../text.ts";

/** Unit vectors of one role, row after row, in the order of their ids. */
export interface VectorTable {
  readonly ids: readonly string[];
  readonly dimension: number;
  /** `ids.length * dimension` numbers. */
  readonly values: Float32Array;
}

/** Rows in any order to a table sorted by id. InternalErrors `NEAR_ID_TWICE`, `NEAR_DIMENSION` for a caller's mistake. */
export const vectorTable = (
  rows: readonly { readonly id: string; readonly vector: Float32Array }[],
): VectorTable => {
  const sorted = rows.toSorted((a, b) => compare(a.id, b.id));
  const dimension = sorted[0]?.vector.length ?? 0;
  const values = new Float32Array(sorted.length * dimension);
  for (const [index, { id, vector }] of sorted.entries()) {
    if (id === sorted[index - 1]?.id)
      throw new InternalError("NEAR_ID_TWICE", `The id ${id} stands here twice`);
    if (vector.length !== dimension)
      throw new InternalError("NEAR_DIMENSION", `${id} has ${vector.length} numbers, not ${dimension}`);
    values.set(vector, index * dimension);
  }
  return { ids: sorted.map(({ id }) => id), dimension, values };
};
