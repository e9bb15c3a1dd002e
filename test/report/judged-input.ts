import type { JudgedVerdict, MetricName } from "../../src/evaluate/index.ts";
import type { ReportInput } from "../../src/report/index.ts";
import { handInput, type HandTurn } from "./hand-input.ts";

/** Of one call; null leaves the verdict out. */
export type Scores = readonly [test: number, reference: number] | null;
/** Scores of one dialogue by reference; a role may have several dialogues. */
export interface Heard {
  readonly role: string;
  readonly scores: readonly Scores[];
  readonly order?: JudgedVerdict["order"];
}
export const FLUENCY = "speech_fluency";

const turnsOf = (heard: readonly Heard[]): readonly HandTurn[] =>
  [...new Set(heard.map(dialogueOf(heard)))].map((dialogue) => ({
    role: dialogue.split("-")[0] ?? "",
    dialogue,
    turn: 0,
    tokens: 10,
    nll: { base: 30, chosen: 20, last: 20 },
  }));

// The second entry of a role with another order is the same dialogue again, else a dialogue of its own.
const dialogueOf =
  (heard: readonly Heard[]) =>
  (one: Heard): string => {
    const before = heard
      .slice(0, heard.indexOf(one))
      .filter(({ role, order }) => role === one.role && order === one.order);
    return `${one.role}-${before.length}`;
  };

/** Scored verdicts of one metric on the seen roles. */
export const verdictsOf = (heard: readonly Heard[], metric: MetricName, system = "chosen"): JudgedVerdict[] =>
  heard.flatMap((one) =>
    one.scores.flatMap((scores, index): JudgedVerdict[] =>
      scores === null
        ? []
        : [
            {
              system,
              suite: "test/seen",
              dialogue: dialogueOf(heard)(one),
              reference: `reference ${index}`,
              order: one.order ?? "test-first",
              verdict: {
                status: "scored",
                metric,
                scores: { test: scores[0], reference: scores[1] },
                rationale: "",
                raw: "",
              },
            },
          ],
    ),
  );

/** A report of these dialogues with these verdicts of one judge. */
export const inputOf = (heard: readonly Heard[], verdicts: readonly JudgedVerdict[]): ReportInput => {
  const input = handInput(turnsOf(heard), []);
  return {
    ...input,
    evaluation: { ...input.evaluation, judge: { status: "used", model: "ears-1" }, verdicts },
  };
};
