import { type Html, html } from "../../core/html.ts";
import type { Cell } from "../cell.ts";
import { type Pair, pOf } from "../difference-cells.ts";
import { findingOf } from "../finding.ts";
import { unitText } from "../format.ts";
import { NLL, type Outcome } from "../outcomes.ts";
import { intervalBar, scaleOf } from "./interval-bar.ts";
import { reading } from "./verdict-section.ts";
import { cellAt, coverage, number, numberAt, pairLabel, type View } from "./view.ts";

/** Checkpoint against checkpoint on the same turns. */
export const differenceSection = (view: View): Html => {
  const suites = view.model.suites.filter(({ instances }) => instances > 0);
  const measures = view.model.outcomes.filter(({ group }) => group === "measure");
  return html`<section id="differences"><h2>Which checkpoint is better</h2>
<p class="lead">Paired differences of the role-text negative log-likelihood: both systems on the same turns, one difference per role, mean over roles with a 95 % t interval. Below 0 the first one predicts the role better.</p>
${suites.map(({ id, label, roles }) => suiteTable(view, { id, title: `${label} (${roles})` }))}
${measures.length === 0 ? "" : exploratory(view, measures)}</section>`;
};

function suiteTable(view: View, { id, title }: { readonly id: string; readonly title: string }): Html {
  const rows = view.model.pairs.map((pair) => ({ pair, cell: at(view, pair, { suite: id, outcome: NLL }) }));
  const scale = scaleOf(rows.map(({ cell }) => cell));
  return html`<table class="stack differences"><caption>${title}</caption>
<thead><tr><th scope="col">Comparison</th><th scope="col" class="n">Difference, nats/token</th><th scope="col" class="barcol"></th><th scope="col" class="n">p</th><th scope="col">Roles · turns</th><th scope="col">Reading</th></tr></thead>
<tbody>${rows.map(
    ({ pair, cell }) => html`<tr><th scope="row">${pairLabel(view, pair)}</th>
<td class="n" data-label="Difference, nats/token">${cell === undefined ? "—" : number(cell)}</td>
<td class="barcol">${intervalBar(cell, scale)}</td>
<td class="n" data-label="p (sign-flip)">${numberAt(view, { table: "difference", system: pair.id, suite: id, outcome: pOf(NLL.id) })}</td>
<td data-label="Roles · turns">${cell === undefined ? "" : coverage(cell)}</td>
<td data-label="Reading">${reading(findingOf(cell, "lower"))}</td></tr>`,
  )}</tbody></table>`;
}

function exploratory(view: View, measures: readonly Outcome[]): Html {
  const suites = view.model.suites.filter(({ instances }) => instances > 0);
  return html`<details class="more"><summary>Differences of the measures (exploratory)</summary>
<p class="note">Not fixed beforehand. p values are adjusted over the measures of one comparison (Benjamini–Hochberg); a measure is never a verdict.</p>
${suites.map(
  ({ id, label }) =>
    html`<table class="stack"><caption>${label}</caption><thead><tr><th scope="col">Comparison</th><th scope="col" class="n">Difference</th><th scope="col" class="n">Adjusted p</th><th scope="col">Roles · turns</th></tr></thead>
${measures.map((outcome) => measureRows(view, { suite: id, outcome }))}</table>`,
)}</details>`;
}

interface Place {
  readonly suite: string;
  readonly outcome: Outcome;
}

const measureRows = (view: View, place: Place): Html =>
  html`<tbody><tr class="rows"><th colspan="4" scope="rowgroup">${place.outcome.label} <span class="unit">${unitText(place.outcome, place.outcome.label)}</span></th></tr>
${view.model.pairs.map((pair) => measureRow(view, pair, place))}</tbody>`;

function measureRow(view: View, pair: Pair, { suite, outcome }: Place): Html {
  const cell = at(view, pair, { suite, outcome });
  return html`<tr><th scope="row">${pairLabel(view, pair)}</th>
<td class="n" data-label="Difference">${cell === undefined ? "—" : number(cell)}</td>
<td class="n" data-label="Adjusted p">${numberAt(view, { table: "difference", system: pair.id, suite, outcome: pOf(outcome.id) })}</td>
<td data-label="Roles · turns">${cell === undefined ? "" : coverage(cell)}</td></tr>`;
}

const at = (view: View, pair: Pair, { suite, outcome }: Place): Cell | undefined =>
  cellAt(view, { table: "difference", system: pair.id, suite, outcome: outcome.id });
