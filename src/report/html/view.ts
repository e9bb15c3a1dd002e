import { type Html, html } from "../../core/html.ts";
import { type Cell, cellKey, type CellAddress } from "../cell.ts";
import { coverageOfCell, count, estimateText, intervalText } from "../format.ts";
import type { ReportModel } from "../model.ts";
import { codePointName, textPieces } from "../odd-characters.ts";

/** A clip beside the page, or why it is not there. */
export type AudioFile = { readonly href: string } | { readonly missing: string };

/** The model with what is needed to set it in type. */
export interface View {
  readonly model: ReportModel;
  readonly cells: ReadonlyMap<string, Cell>;
  readonly audio: ReadonlyMap<string, AudioFile>;
  readonly charts: { readonly loss: Html | null; readonly roles: Html | null };
}

/** The cell at an address, if the model has it. */
export const cellAt = ({ cells }: View, address: CellAddress): Cell | undefined =>
  cells.get(cellKey(address));

/** A number with its interval. Its text is exactly `cellText`, its `data-cell` says which one it is. */
export const number = (cell: Cell): Html => {
  const interval = intervalText(cell);
  return html`<span class="num" data-cell="${cell.key}">${estimateText(cell)}${interval === "" ? "" : html` <span class="ci">${interval}</span>`}</span>`;
};

/** The number at an address, or a dash where the model has none. */
export const numberAt = (view: View, address: CellAddress): Html => {
  const cell = cellAt(view, address);
  return cell === undefined ? html`<span class="num none">—</span>` : number(cell);
};

/** `12 roles · 30/30` */
export const coverage = (cell: Cell): Html => {
  const parts = [cell.roles === null ? "" : count(cell.roles, "role"), coverageOfCell(cell)].filter(Boolean);
  const partial = cell.scored !== cell.expected ? " partial" : "";
  return html`<span class="cov${partial}" data-coverage="${cell.key}">${parts.join(" · ")}</span>`;
};

/**
 * Text of others: in its own language, so that fonts and screen readers do the right thing, and with a mark in place of
 * every character that cannot be read.
 */
export const prose = (text: string): Html => {
  const marked = html`${textPieces(text).map((piece) => (piece.odd ? oddMark(piece.text) : piece.text))}`;
  return /\p{Script=Han}/u.test(text) ? html`<span lang="zh-Hans">${marked}</span>` : marked;
};

const oddMark = (character: string): Html => {
  const name = codePointName(character);
  return character === "\uFFFD"
    ? html`<span class="odd none" title="bytes that are no UTF-8">\uFFFD</span>`
    : html`<span class="odd" title="${name}">${name.slice(2).replace(/^00/, "")}</span>`;
};

/** The `id` of a dialogue where all of them are listed. */
export const dialogueAnchor = ({ model }: View, suite: string, dialogue: string): string =>
  `d${model.dialogues.findIndex((one) => one.id === dialogue && one.suite === suite)}`;

export const systemLabel = ({ model }: View, id: string): string =>
  model.systems.find((system) => system.id === id)?.label ?? id;

/** `lowest dev loss − base model` */
export const pairLabel = (view: View, { a, b }: { readonly a: string; readonly b: string }): Html =>
  html`${systemLabel(view, a)} <span class="minus">−</span> ${systemLabel(view, b)}`;

/** A table in a container of its own that scrolls where the page must not. */
export const scroller = (label: string, table: Html): Html =>
  html`<div class="scroller" role="region" aria-label="${label}" tabindex="0">${table}</div>`;
