import { type Html, html } from "../../core/html.ts";
import { failureGroups, type FailureGroup } from "../failure-groups.ts";
import { count } from "../format.ts";
import { dialogueAnchor, prose, type View } from "./view.ts";

/** Failed answers by what went wrong; each one leads to its dialogue. */
export const failureList = (view: View): Html => {
  const { failures } = view.model;
  if (failures.length === 0) return html`<p class="note">No answer failed.</p>`;
  return html`<details class="more" id="failures"><summary>Failed answers (${failures.length})</summary>
<table class="stack failures"><thead><tr><th scope="col">Suite</th><th scope="col">System</th><th scope="col">Failure</th><th scope="col">Answers</th></tr></thead>
<tbody>${failureGroups(view.model).map((group) => groupRow(view, group))}</tbody></table></details>`;
};

const groupRow = (view: View, group: FailureGroup): Html =>
  html`<tr><td data-label="Suite">${group.suiteLabel}</td><td data-label="System">${prose(group.systemLabel)}</td>
<td data-label="Failure"><span><b>${group.kind}</b>: ${prose(group.message)}</span></td>
<td class="where"><details><summary>${count(group.count, "answer")}, ${count(group.roles.length, "role")}</summary>
<ul>${group.roles.map(
    ({ name, failures }) =>
      html`<li><b>${prose(name)}</b> ${failures.map(
        ({ suite, dialogue, turn }) =>
          html`<a href="#${dialogueAnchor(view, suite, dialogue)}">${dialogue}</a> turn ${turn + 1}<br>`,
      )}</li>`,
  )}</ul></details></td></tr>`;
