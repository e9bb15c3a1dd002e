import { type Html, html, raw } from "../../core/html.ts";
import type { Cell } from "../cell.ts";

const WIDTH = 160;
const HEIGHT = 20;

/** Smallest scale that holds all the intervals and 0. */
export const scaleOf = (cells: readonly (Cell | undefined)[]): readonly [number, number] => {
  const values = cells.flatMap((cell) => [cell?.lo ?? cell?.estimate ?? 0, cell?.hi ?? cell?.estimate ?? 0]);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const margin = (high - low) * 0.06 || 1;
  return [low - margin, high + margin];
};

/** The interval of a cell as a bar on a scale, with a line at 0. The number stands beside it, so it is only decoration. */
export const intervalBar = (cell: Cell | undefined, [low, high]: readonly [number, number]): Html => {
  const x = (value: number): string => (((value - low) / (high - low)) * WIDTH).toFixed(1);
  const zero = `<line class="zero" x1="${x(0)}" x2="${x(0)}" y1="0" y2="${HEIGHT}"/>`;
  if (cell === undefined || cell.estimate === null) return html``;
  const bar =
    cell.lo === null || cell.hi === null
      ? ""
      : `<line class="bar" x1="${x(cell.lo)}" x2="${x(cell.hi)}" y1="10" y2="10"/>`;
  const dot = `<circle class="dot" cx="${x(cell.estimate)}" cy="10" r="4"/>`;
  return raw(
    `<svg class="interval" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" aria-hidden="true">${zero}${bar}${dot}</svg>`,
  );
};
