import { type Html, html } from "../../core/html.ts";
import type { Cell } from "../cell.ts";
import { pairOf } from "../difference-cells.ts";
import { type Finding, findingOf } from "../finding.ts";
import { groupedBy } from "../grouped.ts";
import { BOTH, DID, headlinePair } from "../generalisation-cells.ts";
import { NLL } from "../outcomes.ts";
import { TOO_FEW_ROLES } from "../estimates.ts";
import { cellAt, coverage, number, prose, systemLabel, type View } from "./view.ts";

const WORDS: Readonly<Record<Finding, string>> = {
  better: "better",
  worse: "worse",
  inconclusive: "interval includes 0",
  same_weights: "same weights",
  identical: "exactly equal",
  constant: "zero variance",
  no_interval: "no interval",
  no_data: "no number",
};

/** A finding as a word with a mark that does not depend on colour. */
export const reading = (finding: Finding, words = WORDS[finding]): Html => {
  const tone = finding === "better" ? "good" : finding === "worse" ? "bad" : "open";
  return html`<span class="reading ${tone}">${words}</span>`;
};

/** The page's head: what it is about, the answer, and the numbers behind it. */
export const verdictSection = (view: View): Html => {
  const { verdict, run, recipe } = view.model;
  return html`<header class="top">
<p class="eyebrow">Understudy · run <b>${prose(run)}</b> · recipe <b>${prose(recipe)}</b></p>
<h1>${prose(verdict.headline)}</h1>
${tiles(view)}
<dl class="verdict">${topicsOf(verdict.sentences).map(
    ([topic, sentences]) =>
      html`<div><dt>${topic}</dt><dd>${sentences.map((sentence) => sentenceHtml(sentence, view))}</dd></div>`,
  )}</dl>
</header>`;
};

type Sentences = View["model"]["verdict"]["sentences"];

const TOPICS: Readonly<Record<string, string>> = {
  notice: "Mind",
  ship: "Which to use",
  scale: "What is compared",
  chosen_vs_base: "Against the base model",
  chosen_vs_last: "Against the last one",
  last: "Against the last one",
  generalisation: "Unseen roles",
  coverage: "Not scored",
  failures: "Failed answers",
  selection: "How it was chosen",
  judge: "Judge",
  recipe: "What one run shows",
};

const topicsOf = (sentences: Sentences): readonly (readonly [string, Sentences])[] => [
  ...groupedBy(sentences, ({ topic }) => TOPICS[topic] ?? topic),
];

const sentenceHtml = (sentence: View["model"]["verdict"]["sentences"][number], { cells }: View): Html =>
  html`<span data-topic="${sentence.topic}">${sentence.parts.map((part) => {
    if (typeof part === "string") return prose(part);
    const cell = cells.get(part.cell);
    return cell === undefined ? html`` : number(cell);
  })}</span>`;

function tiles(view: View): Html {
  const { base, chosen, last } = view.model.comparison;
  const against = (pair: { a: string; b: string }, suite: string): Cell | undefined =>
    cellAt(view, { table: "difference", system: pairOf(pair.a, pair.b).id, suite, outcome: NLL.id });
  const did = cellAt(view, {
    table: "generalisation",
    system: headlinePair(view.model).id,
    suite: BOTH,
    outcome: DID,
  });
  return html`<div class="tiles">
${tile("Seen roles, against the base model", against({ a: chosen, b: base }, "test/seen"), "lower")}
${tile("Unseen roles, against the base model", against({ a: chosen, b: base }, "test/unseen"), "lower")}
${tile("Gain on unseen less gain on seen roles", did, "higher")}
${chosen === last ? "" : tile(`Seen roles, against ${systemLabel(view, last)}`, against({ a: chosen, b: last }, "test/seen"), "lower")}
</div>`;
}

/** The same findings, said of the difference between two gains. */
export const contrastWords = (finding: Finding): string => {
  if (finding === "better") return "unseen gain more";
  return finding === "worse" ? "unseen gain less" : WORDS[finding];
};

function tile(label: string, cell: Cell | undefined, better: "lower" | "higher"): Html {
  const finding = findingOf(cell, better);
  const few = cell?.reason === TOO_FEW_ROLES;
  return html`<section class="tile"><h2>${label}</h2>
<p class="big">${cell === undefined ? "—" : number(cell)}</p>
${cell === undefined ? "" : html`<p class="small">${cell.unit}, ${better} is better</p><p class="small">${coverage(cell)} turns</p>`}
<p>${few ? reading("no_interval", "too few roles for a verdict") : reading(finding, better === "higher" ? contrastWords(finding) : WORDS[finding])}</p></section>`;
}
