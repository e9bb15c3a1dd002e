import { type Html, html } from "../../core/html.ts";
import type { DialogueView } from "../dialogue-views.ts";
import { count } from "../format.ts";
import { dialogueBlock } from "./dialogue.ts";
import { prose, type View } from "./view.ts";

/** Worst, best and some in between first; then every dialogue, role by role. */
export const listenSection = (view: View): Html =>
  html`<section id="listen"><h2>Listen</h2>
<p class="lead">The number beside a dialogue is the change of its likelihood against the base model; below 0 is better. Nothing loads until you press play.</p>
${view.model.suites.filter(({ instances }) => instances > 0).map(({ id, label }) => suiteBlock(view, id, label))}</section>`;

function suiteBlock(view: View, suite: string, label: string): Html {
  const dialogues = view.model.dialogues.filter((dialogue) => dialogue.suite === suite);
  const byId = new Map(dialogues.map((dialogue) => [dialogue.id, dialogue]));
  const highlights = view.model.highlights.filter((highlight) => highlight.suite === suite);
  return html`<h3>${label}</h3>
<div class="group">${highlights.map(({ dialogue: id, why }) => {
    const dialogue = byId.get(id);
    return dialogue === undefined ? html`` : dialogueBlock(view, dialogue, { kind: "live", why });
  })}</div>
<details class="more all"><summary>All ${count(dialogues.length, "dialogue")} by role</summary>
${rolesOf(dialogues).map(({ name, own }) => roleBlock(view, name, own))}</details>`;
}

const roleBlock = (view: View, name: string, own: readonly DialogueView[]): Html =>
  html`<details class="role"><summary><span class="who">${prose(name)}</span> <span class="what">${count(own.length, "dialogue")}</span></summary>
<div class="group">${own.map((dialogue) => dialogueBlock(view, dialogue, { kind: "late" }))}</div></details>`;

function rolesOf(
  dialogues: readonly DialogueView[],
): readonly { readonly name: string; readonly own: readonly DialogueView[] }[] {
  const ids = [...new Set(dialogues.map(({ role }) => role))];
  const roles = ids.map((id) => {
    const own = dialogues.filter(({ role }) => role === id);
    return { name: own[0]?.roleName ?? id, own };
  });
  return roles.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
