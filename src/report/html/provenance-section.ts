import { type Html, html } from "../../core/html.ts";
import { groupedBy } from "../grouped.ts";
import type { ProvenanceEntry } from "../input.ts";
import { prose, type View } from "./view.ts";

/** What was compared and what it was made from. */
export const provenanceSection = ({ model }: View): Html => {
  const groups = [...groupedBy(model.provenance, titleOf)];
  const origins = model.provenance.some(({ origin }) => origin !== null);
  return html`<section id="provenance"><h2>Where the numbers come from</h2>
<table class="stack"><caption>Systems</caption><thead><tr><th scope="col">System</th><th scope="col">Step</th><th scope="col">Voice</th><th scope="col">Model state</th></tr></thead>
<tbody>${model.systems.map(
    ({ label, step, speaker, weightsDigest, sameAs }) =>
      html`<tr><th scope="row">${prose(label)}</th><td data-label="Step">${step ?? "—"}</td><td data-label="Voice">${speaker}</td><td data-label="Model state"><code>${weightsDigest.slice(0, 16)}</code>${sameAs.length === 0 ? "" : html` <span class="why">same as ${sameAs.join(", ")}</span>`}</td></tr>`,
  )}</tbody></table>
${origins ? html`<p class="note">Where a setting comes from: <span class="origin">paper</span> the published method, <span class="origin">ours</span> our choice where the paper says nothing, <span class="origin">file</span> the recipe, <span class="origin">flag</span> the command line.</p>` : ""}
<div class="facts-columns">${groups.map(([title, entries]) => groupTable(title, entries))}</div>
<p class="note">Every number is also in <a href="report.csv">report.csv</a> with its coverage and reason, in <a href="report.md">report.md</a> as text, and in <a href="model.json">model.json</a> as data.</p></section>`;
};

// Settings are paths such as training.lora.rank: one table for each first word, with the rest of the path in it.
function titleOf({ group, name }: ProvenanceEntry): string {
  return isPath(group, name) ? `${group}: ${name.slice(0, name.indexOf("."))}` : group;
}

const isPath = (group: string, name: string): boolean => group === "Settings" && name.includes(".");

const shownName = ({ group, name }: ProvenanceEntry): string =>
  isPath(group, name) ? name.slice(name.indexOf(".") + 1) : name;

function groupTable(title: string, entries: readonly ProvenanceEntry[]): Html {
  const origins = entries.some(({ origin }) => origin !== null);
  const head = origins
    ? html`<thead><tr><th scope="col">Name</th><th scope="col">Value</th><th scope="col" class="n">Origin</th></tr></thead>`
    : "";
  return html`<table class="provenance"><caption>${prose(title)}</caption>${head}
<tbody>${entries.map(
    (entry) =>
      html`<tr><th scope="row">${breakable(shownName(entry))}</th><td class="value">${valueHtml(entry.value)}</td>${origins ? html`<td class="n">${entry.origin === null ? "" : html`<span class="origin">${prose(entry.origin)}</span>`}</td>` : ""}</tr>`,
  )}</tbody></table>`;
}

const valueHtml = (value: string): Html =>
  /^[0-9a-f]{32,}/.test(value) ? html`<code>${value}</code>` : prose(value);

// Long paths break after a dot or before a capital letter, not anywhere.
function breakable(name: string): Html {
  const parts = name.split(/(?<=\.)|(?<=[a-z])(?=[A-Z])/);
  return html`${parts.map((part, index) => (index === 0 ? prose(part) : html`<wbr>${prose(part)}`))}`;
}
