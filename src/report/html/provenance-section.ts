import { type Html, html } from "../../core/html.ts";
import { prose, type View } from "./view.ts";

/** What was compared and what it was made from. */
export const provenanceSection = ({ model }: View): Html => {
  const groups = [...new Set(model.provenance.map(({ group }) => group))];
  return html`<section id="provenance"><h2>Where the numbers come from</h2>
<table class="stack provenance"><caption>Systems</caption><thead><tr><th scope="col">System</th><th scope="col">Step</th><th scope="col">Voice</th><th scope="col">Weights</th></tr></thead>
<tbody>${model.systems.map(
    ({ label, step, speaker, weightsDigest, sameAs }) =>
      html`<tr><th scope="row">${prose(label)}</th><td data-label="Step">${step ?? "—"}</td><td data-label="Voice">${speaker}</td><td data-label="Weights"><code>${weightsDigest.slice(0, 16)}</code>${sameAs.length === 0 ? "" : html` <span class="why">same as ${sameAs.join(", ")}</span>`}</td></tr>`,
  )}</tbody></table>
${groups.map(
  (
    group,
  ) => html`<table class="stack provenance"><caption>${group}</caption><thead><tr><th scope="col">Name</th><th scope="col">Value</th><th scope="col">Origin</th></tr></thead>
<tbody>${model.provenance
    .filter((entry) => entry.group === group)
    .map(
      ({ name, value, origin }) =>
        html`<tr><th scope="row">${prose(name)}</th><td class="value" data-label="Value">${prose(value)}</td><td data-label="Origin">${origin ?? ""}</td></tr>`,
    )}</tbody></table>`,
)}
<p class="note">Every number is also in <a href="report.csv">report.csv</a> with its coverage and reason, in <a href="report.md">report.md</a> as text, and in <a href="model.json">model.json</a> as data.</p></section>`;
};
