import { type Html, html } from "../../core/html.ts";
import { unitText } from "../format.ts";
import type { SuiteView } from "../model.ts";
import { FAILED, JUDGED_UNIT, type Outcome } from "../outcomes.ts";
import { failureList } from "./failure-section.ts";
import { cellAt, coverage, number, prose, type View } from "./view.ts";

const GROUPS: Readonly<Record<Exclude<Outcome["group"], "judged">, string>> = {
  likelihood: "Likelihood of the reference text",
  measure: "Measures of the spoken answers",
  failures: "Failures",
};

/** Every system on every outcome. */
export const levelSection = (view: View): Html =>
  html`<section id="levels"><h2>Every system, every outcome</h2>
<p class="lead">Mean over roles with a 95 % interval. Roles and scored turns stand below each number; what is missing is never averaged.</p>
${view.model.suites.map((suite) => (suite.instances === 0 ? emptySuite(suite) : suiteTable(view, suite)))}
${failureList(view)}</section>`;

const emptySuite = ({ label }: SuiteView): Html =>
  html`<p class="note">${label}: no test role is in this suite, so there is nothing to show.</p>`;

function suiteTable(view: View, suite: SuiteView): Html {
  const groups = [...new Set(view.model.outcomes.map(({ group }) => group))].filter(
    (group) => group !== "judged",
  );
  return html`<table class="stack levels"><caption>${suite.label}: ${suite.roles} roles, ${suite.instances} turns</caption>
${head(view)}
${groups.map(
  (
    group,
  ) => html`<tbody><tr class="rows"><th colspan="${view.model.systems.length + 1}" scope="rowgroup">${GROUPS[group]}</th></tr>
${rowsOf(view, suite, group)}</tbody>`,
)}</table>
${judgedTable(view, suite)}`;
}

function judgedTable(view: View, suite: SuiteView): Html {
  const judged = view.model.cells.some(
    ({ table, suite: at, unit, estimate }) =>
      table === "level" && at === suite.id && unit === JUDGED_UNIT && estimate !== null,
  );
  const rows = html`<table class="stack levels">${head(view)}<tbody>${rowsOf(view, suite, "judged")}</tbody></table>`;
  const name = `The eight metrics of SpeechRole-Eval on ${suite.label.toLowerCase()}`;
  return judged
    ? html`<details class="more" open><summary>${name}</summary><p class="note">The system's score over the reference's; 1 is as good as a reference. Counted in dialogues: one counts when all its calls have a score.</p>${rows}</details>`
    : html`<details class="more"><summary>${name}: unscored</summary>${rows}</details>`;
}

const head = ({ model }: View): Html =>
  html`<thead><tr><th scope="col">Outcome</th>${model.systems.map(({ label }) => html`<th scope="col" class="n">${prose(label)}</th>`)}</tr></thead>`;

const rowsOf = (view: View, suite: SuiteView, group: Outcome["group"]): readonly Html[] =>
  view.model.outcomes
    .filter((outcome) => outcome.group === group && shows(view, suite, outcome))
    .map((outcome) => outcomeRow(view, suite, outcome));

const outcomeRow = (view: View, suite: SuiteView, outcome: Outcome): Html =>
  html`<tr${isScale(outcome) ? html` class="scale"` : ""}><th scope="row">${outcome.label} <span class="unit">${isScale(outcome) ? "" : `${unitText(outcome, outcome.label)}${direction(outcome)}`}</span></th>
${view.model.systems.map(({ id, label }) => levelCell(view, { system: id, label, suite: suite.id, outcome }))}</tr>`;

// A metric on another scale stands under the metric.
const isScale = ({ group, id }: Outcome): boolean => group === "judged" && id.includes(".");

const direction = ({ better }: Outcome): string => (better === null ? "" : better === "lower" ? " ↓" : " ↑");

interface Place {
  readonly system: string;
  readonly label: string;
  readonly suite: string;
  readonly outcome: Outcome;
}

function levelCell(view: View, { system, label, suite, outcome }: Place): Html {
  const cell = cellAt(view, { table: "level", system, suite, outcome: outcome.id });
  if (cell === undefined) return html`<td class="n" data-label="${label}">—</td>`;
  const note = cell.reason === null ? "" : html`<span class="why">${cell.reason}</span>`;
  if (outcome.group === "judged" && cell.estimate === null)
    return html`<td class="n quiet" data-label="${label}">${number(cell)} ${note}</td>`;
  const covered = outcome.group === "failures" && outcome.id !== FAILED.id ? "" : coverage(cell);
  return html`<td class="n" data-label="${label}">${number(cell)} ${covered}${note}</td>`;
}

// A failure class that never happened is not worth a row; the total always is, and so is what nobody looked for.
function shows({ model, cells }: View, suite: SuiteView, outcome: Outcome): boolean {
  if (outcome.group !== "failures" || outcome.id === FAILED.id) return true;
  return model.systems.some(({ id }) => cells.get(`level/${id}/${suite.id}/${outcome.id}`)?.estimate !== 0);
}
