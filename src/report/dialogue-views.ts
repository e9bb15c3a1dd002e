import { failureOf, instanceKey, silenceShares, type SuiteId, type SuiteResult } from "../evaluate/index.ts";
import { sum } from "../stats/index.ts";
import { answerAudio, referenceAudio, userAudio } from "./audio-id.ts";
import { type Cell, cell } from "./cell.ts";
import type { ReportDialogue } from "./input.ts";
import { NLL, type Outcome } from "./outcomes.ts";
import type { Prepared, PreparedSuite } from "./prepare.ts";

export interface AnswerView {
  readonly system: string;
  /** Null when there is no answer. */
  readonly text: string | null;
  readonly audio: string | null;
  readonly failure: { readonly class: string; readonly message: string } | null;
  /** Key of the NLL cell of this turn. */
  readonly nll: string;
  /** Keys of measure cells. */
  readonly measures: readonly string[];
}

export interface TurnView {
  readonly turn: number;
  readonly userText: string | null;
  readonly userAudio: string | null;
  readonly roleText: string | null;
  readonly references: readonly { readonly label: string; readonly audio: string }[];
  readonly answers: readonly AnswerView[];
}

export interface DialogueView {
  readonly id: string;
  readonly suite: SuiteId;
  readonly role: string;
  readonly roleName: string;
  readonly language: "en" | "zh";
  readonly kind: "single" | "multi";
  readonly cardExcerpt: string;
  /** Key of the cell with NLL of chosen − base over the whole dialogue. */
  readonly change: string;
  /** Keys of the dialogue's NLL cells, in the order of the systems. */
  readonly levels: readonly string[];
  readonly failed: boolean;
  readonly turns: readonly TurnView[];
}

export interface DialogueViews {
  readonly dialogues: readonly DialogueView[];
  readonly cells: readonly Cell[];
}

/** Every dialogue of every suite with what each system said, and the cells of the numbers beside it. */
export const dialogueViews = (prepared: Prepared, outcomes: readonly Outcome[]): DialogueViews => {
  const texts = new Map(prepared.input.dialogues.map((dialogue) => [dialogue.id, dialogue]));
  const measures = outcomes.filter(({ group }) => group === "measure");
  const views = prepared.suites.flatMap((suite) => {
    const ids = [...new Set(suite.expected.map(({ dialogue }) => dialogue))];
    const results = prepared.systems.map(({ id }) => indexed(prepared.result(id, suite.id)));
    return ids.map((id) => viewOf({ prepared, suite, results, measures, text: texts.get(id) }, id));
  });
  return { dialogues: views.map(({ view }) => view), cells: views.flatMap(({ cells }) => cells) };
};

interface Indexed {
  readonly result: SuiteResult;
  readonly scores: ReadonlyMap<string, SuiteResult["scores"][number]>;
  readonly answers: ReadonlyMap<string, SuiteResult["answers"][number]>;
  readonly measures: ReadonlyMap<string, SuiteResult["measures"][number]>;
  readonly silence: ReadonlyMap<string, number>;
}

const indexed = (result: SuiteResult): Indexed => ({
  result,
  scores: new Map(result.scores.map((row) => [instanceKey(row), row])),
  answers: new Map(result.answers.map((row) => [instanceKey(row), row])),
  measures: new Map(result.measures.map((row) => [`${row.measure} ${instanceKey(row)}`, row])),
  silence: silenceShares(result),
});

interface Context {
  readonly prepared: Prepared;
  readonly suite: PreparedSuite;
  readonly results: readonly Indexed[];
  readonly measures: readonly Outcome[];
  readonly text: ReportDialogue | undefined;
}

function viewOf(
  context: Context,
  id: string,
): { readonly view: DialogueView; readonly cells: readonly Cell[] } {
  const { prepared, suite, results, text } = context;
  const instances = suite.expected.filter(({ dialogue }) => dialogue === id);
  const [first] = instances;
  const role = first?.role ?? "";
  const levels = results.map((result) => dialogueLevel(result, suite, id));
  const change = changeCell(prepared, levels, { suite: suite.id, dialogue: id });
  const turns = instances.map(({ turn }) => turnOf(context, { dialogue: id, turn }));
  return {
    view: {
      id,
      suite: suite.id,
      role,
      roleName: prepared.roleNames.get(role) ?? role,
      language: first?.language ?? "en",
      kind: first?.kind ?? "single",
      cardExcerpt: text?.cardExcerpt ?? "",
      change: change.key,
      levels: levels.map(({ key }) => key),
      failed: turns.some(({ view }) => view.answers.some(({ failure }) => failure !== null)),
      turns: turns.map(({ view }) => view),
    },
    cells: [change, ...levels, ...turns.flatMap(({ cells }) => cells)],
  };
}

function dialogueLevel({ result, scores }: Indexed, suite: PreparedSuite, dialogue: string): Cell {
  const instances = suite.expected.filter((instance) => instance.dialogue === dialogue);
  const rows = instances.flatMap((instance) => scores.get(instanceKey(instance)) ?? []);
  const complete = rows.length === instances.length;
  return cell({
    table: "dialogue",
    system: result.system,
    suite: suite.id,
    outcome: dialogue,
    estimate: complete ? sum(rows.map(({ nll }) => nll)) / sum(rows.map(({ tokens }) => tokens)) : null,
    scored: rows.length,
    expected: instances.length,
    reason: complete ? null : "not every turn was scored",
    unit: NLL.unit,
    digits: NLL.digits,
  });
}

function changeCell(
  { input }: Prepared,
  levels: readonly Cell[],
  at: { readonly suite: SuiteId; readonly dialogue: string },
): Cell {
  const { base, chosen } = input.comparison;
  const level = (system: string): number | null =>
    levels.find((candidate) => candidate.system === system)?.estimate ?? null;
  const [a, b] = [level(chosen), level(base)];
  return cell({
    table: "dialogue",
    system: `${chosen}-vs-${base}`,
    suite: at.suite,
    outcome: at.dialogue,
    estimate: a === null || b === null ? null : a - b,
    unit: NLL.unit,
    digits: NLL.digits,
  });
}

interface At {
  readonly dialogue: string;
  readonly turn: number;
}

function turnOf(context: Context, at: At): { readonly view: TurnView; readonly cells: readonly Cell[] } {
  const turn = context.text?.turns.find((candidate) => candidate.turn === at.turn);
  const answers = context.results.map((result) => answerOf(context, result, at));
  return {
    view: {
      turn: at.turn,
      userText: turn?.userText ?? null,
      userAudio: turn?.userAudio ? userAudio(at) : null,
      roleText: turn?.roleText ?? null,
      references: (turn?.references ?? [])
        .toSorted((a, b) => (a.label < b.label ? -1 : 1))
        .map(({ label }) => ({ label, audio: referenceAudio(at, label) })),
      answers: answers.map(({ view }) => view),
    },
    cells: answers.flatMap(({ cells }) => cells),
  };
}

function answerOf(
  { prepared, suite, measures }: Context,
  { result, scores, answers, silence, measures: measured }: Indexed,
  at: At,
): { readonly view: AnswerView; readonly cells: readonly Cell[] } {
  const place = { table: "turn", system: result.system, suite: suite.id } as const;
  const named = (outcome: Outcome): string => `${at.dialogue}/${at.turn}/${outcome.id}`;
  const score = scores.get(instanceKey(at));
  const nll = cell({
    ...place,
    outcome: named(NLL),
    estimate: score === undefined ? null : score.nll / score.tokens,
    reason: score === undefined ? "not scored" : null,
    unit: NLL.unit,
    digits: NLL.digits,
  });
  const measureCells = measures.flatMap((outcome) => {
    const row = measured.get(`${outcome.id} ${instanceKey(at)}`);
    if (row === undefined) return [];
    const { value, reason, unit } = row;
    return [
      cell({ ...place, outcome: named(outcome), estimate: value, reason, unit, digits: outcome.digits }),
    ];
  });
  const answer = answers.get(instanceKey(at));
  return {
    view: {
      system: result.system,
      text: answer?.text ?? null,
      audio: answer?.audio ? answerAudio(result.system, at) : null,
      failure: failureOf(answer, {
        silenceShare: silence.get(instanceKey(at)) ?? null,
        limits: prepared.input.limits,
      }),
      nll: nll.key,
      measures: measureCells.map(({ key }) => key),
    },
    cells: [nll, ...measureCells],
  };
}
