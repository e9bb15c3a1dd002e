import { type Html, html } from "../../core/html.ts";
import { DEV_LOSS, TRAIN_LOSS } from "../checkpoint-cells.ts";
import { numberAt, scroller, type View } from "./view.ts";

/** How the run went and where its checkpoints are. */
export const lossSection = (view: View): Html => {
  const { selection, checkpoints } = view.model;
  return html`<section id="training"><h2>Loss by step</h2>
<p class="lead">Chosen from ${selection.candidates} checkpoints on <b>${selection.set}</b>: ${selection.rule}. ${selection.set === "dev" ? "The test came after that choice." : "The choice saw the test set, so test numbers of the chosen checkpoint carry no interval."}</p>
${view.charts.loss === null ? html`<p class="note">No losses were recorded.</p>` : html`<figure>${view.charts.loss}<figcaption><span class="key train"></span> training <span class="key dev"></span> dev · rings are checkpoints, filled ones are compared</figcaption></figure>`}
${checkpoints.length === 0 ? "" : html`<details class="more"><summary>Checkpoints (${checkpoints.length})</summary>${scroller("Checkpoints", checkpointTable(view))}</details>`}</section>`;
};

const checkpointTable = (view: View): Html =>
  html`<table><thead><tr><th scope="col" class="n">Step</th><th scope="col">Checkpoint</th><th scope="col" class="n">Dev loss, nats/token</th><th scope="col" class="n">Training loss, nats/token</th><th scope="col">Weights</th></tr></thead>
<tbody>${view.model.checkpoints.map(
    ({ id, step, label, weightsDigest }) =>
      html`<tr><td class="n">${step}</td><th scope="row">${label === "" ? id : label}</th>
<td class="n">${numberAt(view, { table: "checkpoint", system: id, suite: "dev", outcome: DEV_LOSS })}</td>
<td class="n">${numberAt(view, { table: "checkpoint", system: id, suite: "train", outcome: TRAIN_LOSS })}</td>
<td><code>${weightsDigest.slice(0, 12)}</code></td></tr>`,
  )}</tbody></table>`;
