import { type Html, html } from "../../core/html.ts";
import { count, unitText } from "../format.ts";
import type { AnswerView, DialogueView, TurnView } from "../dialogue-views.ts";
import type { Highlight } from "../highlights.ts";
import { textPieces } from "../odd-characters.ts";
import { player, type PlayerKind } from "./player.ts";
import { dialogueAnchor, number, prose, systemLabel, type View } from "./view.ts";

const WHY: Readonly<Record<Highlight["why"], string>> = {
  worst: "worst",
  best: "best",
  spread: "between",
  failed: "failed answer",
};

interface Setting {
  readonly kind: PlayerKind;
  readonly why?: Highlight["why"];
}

/** One dialogue: user, references and every system's answer side by side. */
export const dialogueBlock = (view: View, dialogue: DialogueView, setting: Setting): Html => {
  const change = view.cells.get(dialogue.change);
  return html`<details class="dialogue"${setting.kind === "late" ? html` id="${dialogueAnchor(view, dialogue.suite, dialogue.id)}"` : ""}><summary>
${setting.why === undefined ? "" : html`<span class="tag ${setting.why}">${WHY[setting.why]}</span>`}
<span class="who">${prose(dialogue.roleName)}</span>
<span class="what">${dialogue.language === "zh" ? "Chinese" : "English"}, ${count(dialogue.turns.length, "turn")} · ${prose(dialogue.id)}</span>
${change === undefined ? "" : html`<span class="change">${number(change)} <span class="unit">nats/token against base</span></span>`}
</summary>
${dialogue.cardExcerpt === "" ? "" : html`<p class="card">${prose(excerpt(dialogue.cardExcerpt))}</p>`}
${dialogue.turns.map((turn) => turnBlock(view, turn, { ...setting, name: dialogue.roleName, language: dialogue.language }))}
</details>`;
};

interface TurnSetting extends Setting {
  readonly name: string;
  readonly language: "en" | "zh";
}

const turnBlock = (view: View, turn: TurnView, setting: TurnSetting): Html => {
  const { kind, name } = setting;
  return html`<section class="turn">
<div class="said user"><h5>User, turn ${turn.turn + 1}</h5>${words(turn.userText)}${player(view, { id: turn.userAudio, label: `User, turn ${turn.turn + 1}`, kind })}</div>
<div class="said reference"><h5>Reference</h5>${words(turn.roleText)}<div class="clips">${turn.references.map(
    ({ label, audio }) =>
      html`<div class="labelled"><span>${label}</span>${player(view, { id: audio, label: `Reference ${label} as ${name}`, kind })}</div>`,
  )}</div></div>
<div class="answers">${turn.answers.map((answer) => answerBlock(view, answer, setting))}</div>
</section>`;
};

function answerBlock(view: View, answer: AnswerView, { kind, name }: TurnSetting): Html {
  const label = systemLabel(view, answer.system);
  const nll = view.cells.get(answer.nll);
  return html`<article class="answer${answer.failure === null ? "" : " failed"}"><h5>${label}</h5>
${answer.failure === null ? "" : html`<p class="failure"><b>${answer.failure.class.replaceAll("_", " ")}</b>: ${prose(answer.failure.message)}</p>`}
${words(answer.text)}
${answer.audio === null ? "" : player(view, { id: answer.audio, label: `${label} as ${name}`, kind })}
<dl class="facts"><div><dt>NLL</dt><dd>${nll === undefined ? "—" : number(nll)} <span class="unit">nats/token</span></dd></div>
${answer.measures.slice(0, 1).map((key) => measureFact(view, key))}</dl>
${answer.measures.length < 2 ? "" : html`<details class="measures"><summary>more measures</summary><dl class="facts">${answer.measures.slice(1).map((key) => measureFact(view, key))}</dl></details>`}</article>`;
}

function measureFact(view: View, key: string): Html {
  const cell = view.cells.get(key);
  if (cell === undefined) return html``;
  const label = view.model.outcomes.find(({ id }) => key.endsWith(`/${id}`))?.label ?? key;
  const note = cell.estimate === null ? (cell.reason ?? "").replaceAll("_", " ") : unitText(cell, label);
  return html`<div><dt>${label}</dt><dd>${number(cell)} <span class="unit">${note}</span></dd></div>`;
}

const words = (text: string | null): Html =>
  text === null || text.trim() === ""
    ? html`<p class="words none">no text</p>`
    : html`<p class="words">${prose(text)}</p>${oddNote(text)}`;

function oddNote(text: string): Html {
  const odd = textPieces(text).filter((piece) => piece.odd).length;
  const all = Array.from(text).length;
  return odd === 0 ? html`` : html`<p class="note">${odd} of ${count(all, "character")} cannot be read</p>`;
}

// An excerpt is cut anywhere: end it at a word, and say that it goes on.
function excerpt(text: string): string {
  const whole = /[.!?…。！？”"』」)）]\s*$/u.test(text);
  const spaces = /\s\S{0,30}$/u.exec(text);
  return whole ? text : `${spaces === null ? text : text.slice(0, spaces.index)} …`;
}
