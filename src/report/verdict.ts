import type { System } from "../evaluate/index.ts";
import { type Cell, cellKey } from "./cell.ts";
import { pairOf, type Pair } from "./difference-cells.ts";
import { type Finding, findingOf } from "./finding.ts";
import { sentenceCase } from "./format.ts";
import { FAILED, NLL } from "./outcomes.ts";
import { type Prepared, systemOf } from "./prepare.ts";
import { say, type Sentence } from "./sentence.ts";
import { generalisationSentences } from "./verdict-generalisation.ts";
import { shipSentence } from "./verdict-ship.ts";
import { judgeSentence } from "./verdict-judge.ts";

/** The report in words. */
export interface Verdict {
  readonly headline: string;
  readonly sentences: readonly Sentence[];
}

type Cells = ReadonlyMap<string, Cell>;

interface Side {
  readonly suite: "test/seen" | "test/unseen";
  readonly words: string;
}
const SIDES: readonly Side[] = [
  { suite: "test/seen", words: "seen roles" },
  { suite: "test/unseen", words: "unseen roles" },
];

/**
 * Says what the numbers allow and no more: which checkpoint is better, whether the gain carries over to unseen roles, what
 * nobody judged, and what one training run cannot show.
 */
export const verdictOf = (prepared: Prepared, cells: Cells): Verdict => {
  const { base, chosen } = prepared.input.comparison;
  return {
    headline: headlineOf(prepared, cells),
    sentences: [
      ...noticeSentences(prepared),
      shipOf(prepared, cells),
      say(
        "scale",
      )`How well does a system expect what the role really says? Differences in negative log-likelihood, nats per token; below 0 is better. `,
      comparison(prepared, cells, { pair: pairOf(chosen, base), topic: "chosen_vs_base" }),
      ...lastSentences(prepared, cells),
      ...generalisationSentences(prepared, cells),
      ...coverageSentences(prepared, cells),
      selectionSentence(prepared),
      judgeSentence(prepared, cells),
      say(
        "recipe",
      )`This is one training run: it says which of its checkpoints to use and nothing about the recipe, for which at least three seeds per arm are needed. `,
    ],
  };
};

const noticeSentences = ({ input }: Prepared): readonly Sentence[] =>
  input.notice === undefined ? [] : [say("notice")`${input.notice} `];

function shipOf(prepared: Prepared, cells: Cells): Sentence {
  const { base, chosen, last } = prepared.input.comparison;
  const found = (other: string, suite: Side["suite"]): Finding =>
    findingOf(differenceCell(cells, pairOf(chosen, other), suite), "lower");
  const showings = SIDES.filter(({ suite }) => hasSuite(prepared, suite)).map(({ suite, words }) => ({
    words,
    againstBase: found(base, suite),
    againstLast: found(last, suite),
  }));
  return shipSentence(label(prepared, chosen), showings);
}

const HEADLINES: Readonly<Record<Finding, string>> = {
  better: "better than the base model",
  worse: "worse than the base model",
  inconclusive: "not told apart from the base model",
  same_weights: "the same weights as the base model",
  identical: "exactly equal to the base model",
  constant: "no interval against the base model",
  no_interval: "no interval against the base model",
  no_data: "not measured",
};

function headlineOf(prepared: Prepared, cells: Cells): string {
  const { base, chosen } = prepared.input.comparison;
  const findings = SIDES.filter(({ suite }) => hasSuite(prepared, suite)).map((side) => ({
    words: side.words,
    text: HEADLINES[findingOf(differenceCell(cells, pairOf(chosen, base), side.suite), "lower")],
  }));
  const name = sentenceCase(label(prepared, chosen));
  const [first, second] = findings;
  if (first === undefined) return `${name}: nothing was evaluated`;
  if (second === undefined) return `${name}: ${first.text} on ${first.words}`;
  if (first.text === second.text) return `${name}: ${first.text} on ${first.words} and on ${second.words}`;
  return `${name}: ${first.text} on ${first.words}, ${second.text} on ${second.words}`;
}

/** One sentence for a pair: its difference on each suite, and what that difference means. */
function comparison(
  prepared: Prepared,
  cells: Cells,
  { pair, topic }: { readonly pair: Pair; readonly topic: string },
): Sentence {
  const [a, b] = [named(prepared, pair.a), named(prepared, pair.b)];
  const tell = say(topic);
  const parts = SIDES.filter(({ suite }) => hasSuite(prepared, suite)).map(
    (side) => onSuite(differenceCell(cells, pair, side.suite), side, topic).parts,
  );
  const opening = tell`${sentenceCase(a)} against ${b}: `.parts;
  if (parts.length === 0) return { topic, parts: [...opening, "nothing was evaluated. "] };
  return {
    topic,
    parts: [...opening, ...parts.flatMap((part, index) => (index === 0 ? part : ["; ", ...part])), ". "],
  };
}

function onSuite(cell: Cell | undefined, { words }: Side, topic: string): Sentence {
  const finding = findingOf(cell, "lower");
  const tell = say(topic);
  if (cell === undefined || finding === "no_data") return tell`no turn of the ${words} was scored for both`;
  const roles = cell.roles === 1 ? words.replace(/s$/, "") : words;
  const meaning = finding === "no_interval" ? `no claim, ${cell.reason ?? "no interval"}` : MEANINGS[finding];
  return tell`${cell} on the ${String(cell.roles ?? 0)} ${roles} (${meaning})`;
}

const MEANINGS: Readonly<Record<Exclude<Finding, "no_data" | "no_interval">, string>> = {
  better: "better: the interval excludes 0",
  worse: "worse: the interval excludes 0",
  inconclusive: "the interval includes 0: this test does not tell the two apart",
  same_weights: "exactly 0: the same weights under two names",
  identical: "every role scores exactly the same with both, although the weights differ",
  constant:
    "zero variance: every role shows the very same difference, so the interval has no width and proves nothing",
};

function lastSentences(prepared: Prepared, cells: Cells): readonly Sentence[] {
  const { chosen, last } = prepared.input.comparison;
  return chosen === last
    ? [say("last")`The chosen checkpoint is also the last one. `]
    : [comparison(prepared, cells, { pair: pairOf(chosen, last), topic: "chosen_vs_last" })];
}

function selectionSentence({ input }: Prepared): Sentence {
  const { candidates, set, rule } = input.selection;
  const tell = say("selection");
  return set === "dev"
    ? tell`The checkpoint was chosen from ${String(candidates)} by ${rule} on dev, apart from the test. `
    : tell`The checkpoint was chosen from ${String(candidates)} by ${rule} on the test set itself: its test numbers are optimistic and carry no interval. `;
}

function coverageSentences(prepared: Prepared, cells: Cells): readonly Sentence[] {
  const { chosen: system } = prepared.input.comparison;
  return SIDES.flatMap(({ suite, words }) => {
    const level = (outcome: string): Cell | undefined =>
      cells.get(cellKey({ table: "level", system, suite, outcome }));
    return [
      ...missingSentence(level(NLL.id), words),
      ...failedSentence(level(FAILED.id), `${words} of ${label(prepared, system)}`),
    ];
  });
}

function missingSentence(cell: Cell | undefined, words: string): readonly Sentence[] {
  const [scored, expected] = [cell?.scored ?? 0, cell?.expected ?? 0];
  if (scored === expected) return [];
  return [
    say(
      "coverage",
    )`On ${words} ${String(scored)} of ${String(expected)} turns were scored; what is missing is in no average. `,
  ];
}

function failedSentence(cell: Cell | undefined, words: string): readonly Sentence[] {
  if (cell === undefined || cell.estimate === null || cell.estimate === 0) return [];
  return [
    say(
      "failures",
    )`${cell} of ${String(cell.expected ?? 0)} spoken answers on ${words} failed; they are counted and listed below. `,
  ];
}

const hasSuite = ({ suites }: Prepared, id: string): boolean =>
  suites.some((suite) => suite.id === id && suite.expected.length > 0);

const label = ({ systems }: Prepared, id: string): string => nameOf(systemOf(systems, id));

const named = (prepared: Prepared, id: string): string =>
  id === prepared.input.comparison.base ? "the base model" : label(prepared, id);

const nameOf = ({ label: words, id }: System): string => (words === "" ? id : words);

const differenceCell = (cells: Cells, pair: Pair, suite: string): Cell | undefined =>
  cells.get(cellKey({ table: "difference", system: pair.id, suite, outcome: NLL.id }));
