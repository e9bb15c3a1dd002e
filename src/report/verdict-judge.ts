import type { Cell } from "./cell.ts";
import { isJudged } from "./judged-values.ts";
import { OVERALL } from "./outcomes.ts";
import type { Prepared } from "./prepare.ts";
import { say, type Sentence } from "./sentence.ts";

/** What the judge said of the chosen checkpoint, or that nobody was asked. */
export const judgeSentence = ({ input, suites }: Prepared, cells: ReadonlyMap<string, Cell>): Sentence => {
  const { judge } = input.evaluation;
  const tell = say("judge");
  if (judge.status === "none")
    return tell`The eight metrics of SpeechRole-Eval are unscored and their overall is empty (${judge.reason}): nothing here says how well the answers are acted. `;
  if (!isJudged(input.evaluation))
    return tell`The eight metrics of SpeechRole-Eval are unscored: this evaluation holds no verdicts of ${judge.model}. `;
  const sides = suites.flatMap(({ id }) => {
    const cell = cells.get(`level/${input.comparison.chosen}/${id}/${OVERALL}`);
    return cell === undefined ? [] : [overallOf(cell, id === "test/seen" ? "seen roles" : "unseen roles")];
  });
  const opening = tell`Judged by ${judge.model} against the references, where 1 is as good as a reference: `;
  const parts = sides.flatMap((side, index) => (index === 0 ? side.parts : ["; ", ...side.parts]));
  return { topic: "judge", parts: [...opening.parts, ...parts, ". "] };
};

function overallOf(cell: Cell, words: string): Sentence {
  const tell = say("judge");
  const covered = `${cell.scored ?? 0} of ${cell.expected ?? 0} dialogues`;
  return cell.estimate === null
    ? tell`on ${words} the overall is empty (${cell.reason ?? "nothing was scored"})`
    : tell`overall ${cell} on ${words} (${covered} with all eight metrics)`;
}
