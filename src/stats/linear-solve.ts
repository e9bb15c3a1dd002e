import { at } from "./at.ts";

/** Solves A x = b for a square matrix by elimination with row pivots. RangeError when A is singular. */
export function solveLinear(
  matrix: readonly (readonly number[])[],
  right: readonly number[],
): readonly number[] {
  const rows = matrix.map((row, index) => [...row, at(right, index)]);
  for (let column = 0; column < rows.length; column += 1) {
    const pivot = pivotRow(rows, column);
    [rows[column], rows[pivot]] = [at(rows, pivot), at(rows, column)];
    for (let below = column + 1; below < rows.length; below += 1)
      eliminate(at(rows, below), at(rows, column), column);
  }
  const solution = right.map(() => 0);
  for (let row = rows.length - 1; row >= 0; row -= 1) {
    const line = at(rows, row);
    const known = solution.reduce(
      (total, value, column) => total + value * (column > row ? at(line, column) : 0),
      0,
    );
    solution[row] = (at(line, rows.length) - known) / at(line, row);
  }
  return solution;
}

function pivotRow(rows: readonly (readonly number[])[], column: number): number {
  let best = column;
  for (let row = column + 1; row < rows.length; row += 1)
    if (Math.abs(at(at(rows, row), column)) > Math.abs(at(at(rows, best), column))) best = row;
  if (at(at(rows, best), column) === 0) throw new RangeError("The matrix is singular");
  return best;
}

function eliminate(row: number[], pivot: readonly number[], column: number): void {
  const factor = at(row, column) / at(pivot, column);
  for (const [index, value] of pivot.entries())
    if (index >= column) row[index] = at(row, index) - factor * value;
}
