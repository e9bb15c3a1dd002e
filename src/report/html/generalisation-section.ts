import { type Html, html } from "../../core/html.ts";
import type { Cell } from "../cell.ts";
import { findingOf } from "../finding.ts";
import { sentenceCase } from "../format.ts";
import { BOTH, DID, GAIN, gainPairsOf, RAW_GAP, RETENTION } from "../generalisation-cells.ts";
import { TOO_FEW_ROLES } from "../estimates.ts";
import { compareText } from "../../stats/index.ts";
import { contrastWords, reading } from "./verdict-section.ts";
import { cellAt, coverage, number, numberAt, prose, systemLabel, type View } from "./view.ts";

/** Is the gain on unseen roles the gain on seen roles? */
export const generalisationSection = (view: View): Html => {
  const pairs = gainPairsOf(view.model.pairs, view.model.comparison.base);
  return html`<section id="generalisation"><h2>Does the gain carry over to unseen roles</h2>
<p class="lead">Gain is base model less tuned, in nats per token, so more is better. Seen and unseen roles differ in difficulty; only the difference of their <em>gains</em> speaks of generalisation.</p>
<table class="stack"><thead><tr><th scope="col">Against the base model</th><th scope="col" class="n">Gain, seen roles</th><th scope="col" class="n">Gain, unseen roles</th><th scope="col" class="n">Unseen − seen (Welch)</th><th scope="col" class="n">Share kept</th><th scope="col">Reading</th></tr></thead>
<tbody>${pairs.map((pair) => gainRow(view, pair))}</tbody></table>
${view.charts.roles === null ? "" : html`<figure>${view.charts.roles}<figcaption>Each dot is one role; the diamond is their mean with its 95 % interval. ${sentenceCase(systemLabel(view, view.model.comparison.chosen))} against the base model.</figcaption></figure>`}
${roleValues(view)}
<details class="more"><summary>Raw gaps (descriptive only)</summary>
<p class="note">Unseen less seen of each system's own level. It mixes how hard the roles are with how well the system generalises, so nothing may be concluded from it.</p>
<table class="stack"><thead><tr><th scope="col">System</th><th scope="col" class="n">Unseen − seen, nats/token</th></tr></thead>
<tbody>${view.model.systems.map(
    ({ id, label }) =>
      html`<tr><th scope="row">${label}</th><td class="n" data-label="Unseen − seen, nats/token">${numberAt(view, { table: "generalisation", system: id, suite: BOTH, outcome: RAW_GAP })}</td></tr>`,
  )}</tbody></table></details></section>`;
};

function gainRow(view: View, pair: View["model"]["pairs"][number]): Html {
  const at = (suite: string, outcome: string): Cell | undefined =>
    cellAt(view, { table: "generalisation", system: pair.id, suite, outcome });
  const did = at(BOTH, DID);
  const shown = (cell: Cell | undefined): Html =>
    cell === undefined ? html`—` : html`${number(cell)} ${coverage(cell)}${why(cell)}`;
  return html`<tr><th scope="row">${systemLabel(view, pair.a)}</th>
<td class="n" data-label="Gain, seen roles">${shown(at("test/seen", GAIN))}</td>
<td class="n" data-label="Gain, unseen roles">${shown(at("test/unseen", GAIN))}</td>
<td class="n" data-label="Unseen − seen (Welch)">${shown(did)}</td>
<td class="n" data-label="Share kept">${numberAt(view, { table: "generalisation", system: pair.id, suite: BOTH, outcome: RETENTION })}</td>
<td data-label="Reading">${did?.reason === TOO_FEW_ROLES ? reading("no_interval", "too few roles") : reading(findingOf(did, "higher"), contrastWords(findingOf(did, "higher")))}</td></tr>`;
}

const why = ({ reason }: Cell): Html => (reason === null ? html`` : html`<span class="why">${reason}</span>`);

function roleValues(view: View): Html {
  const cells = view.model.cells.filter(({ table }) => table === "role");
  const roles = view.model.roles.filter(({ id }) => cells.some(({ outcome }) => outcome === id));
  const pairs = gainPairsOf(view.model.pairs, view.model.comparison.base);
  const suiteOf = (role: string): string => cells.find(({ outcome }) => outcome === role)?.suite ?? "";
  const suiteLabel = (role: string): string =>
    view.model.suites.find(({ id }) => id === suiteOf(role))?.label ?? "";
  if (roles.length === 0) return html``;
  return html`<details class="more"><summary>Gain of each role</summary>
<table class="stack"><thead><tr><th scope="col">Role</th><th scope="col">Side</th>${pairs.map(({ a }) => html`<th scope="col" class="n">${systemLabel(view, a)}, nats/token</th>`)}</tr></thead>
<tbody>${roles
    .toSorted((a, b) => compareText(suiteOf(a.id), suiteOf(b.id)) || compareText(a.name, b.name))
    .map(
      ({ id, name }) =>
        html`<tr><th scope="row">${prose(name)}</th><td data-label="Side">${suiteLabel(id)}</td>${pairs.map((pair) => html`<td class="n" data-label="${systemLabel(view, pair.a)}, nats/token">${numberAt(view, { table: "role", system: pair.id, suite: suiteOf(id), outcome: id })}</td>`)}</tr>`,
    )}</tbody></table></details>`;
}
