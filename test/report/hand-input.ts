import type { AnswerRow, MeasureRow, ScoreRow, SuiteId, SuiteResult } from "../../src/evaluate/index.ts";
import type { ReportInput, ReportRole } from "../../src/report/index.ts";

/** One turn by hand: NLL over tokens, one for each system; null leaves the row out. */
export interface HandTurn {
  readonly role: string;
  readonly dialogue: string;
  readonly turn: number;
  readonly tokens: number;
  readonly nll: {
    readonly base: number | null;
    readonly chosen: number | null;
    readonly last: number | null;
  };
}

type SystemId = keyof HandTurn["nll"];
const SYSTEMS: readonly SystemId[] = ["base", "chosen", "last"];

/** An input of rows written by hand, without audio. */
export const handInput = (
  seen: readonly HandTurn[],
  unseen: readonly HandTurn[],
  changes: Partial<ReportInput> = {},
): ReportInput => ({
  run: "run-1",
  recipe: "recipe-1",
  evaluation: {
    id: "evaluation-1",
    systems: [
      {
        id: "base",
        label: "base model",
        step: null,
        checkpoint: null,
        weightsDigest: "w0",
        speaker: "Ethan",
      },
      {
        id: "chosen",
        label: "lowest dev loss (step 20)",
        step: 20,
        checkpoint: "c20",
        weightsDigest: "w20",
        speaker: "Ethan",
      },
      {
        id: "last",
        label: "last (step 40)",
        step: 40,
        checkpoint: "c40",
        weightsDigest: "w40",
        speaker: "Ethan",
      },
    ],
    results: SYSTEMS.flatMap((system) => [
      resultOf(system, "test/seen", seen),
      resultOf(system, "test/unseen", unseen),
    ]),
    judge: { status: "none", reason: "no judge here" },
  },
  comparison: { base: "base", chosen: "chosen", last: "last" },
  selection: { candidates: 2, set: "dev", rule: "lowest dev loss" },
  checkpoints: [
    { id: "run-1@20", step: 20, devLoss: 2.25, trainLoss: 2.5, label: "step 20", weightsDigest: "w20" },
    { id: "run-1@40", step: 40, devLoss: 2.375, trainLoss: null, label: "step 40", weightsDigest: "w40" },
  ],
  losses: [
    { step: 10, train: 3 },
    { step: 20, train: 2.5, dev: 2.25 },
    { step: 40, dev: 2.375 },
  ],
  trainingRoles: [...new Set(seen.map(({ role }) => role))],
  roles: [...new Set([...seen, ...unseen].map(({ role }) => role))].map(roleOf),
  dialogues: [],
  provenance: [{ group: "Training", name: "seed", value: "17", origin: "file" }],
  ...changes,
});

const roleOf = (id: string): ReportRole => ({ id, name: `Role ${id}`, language: "en", source: "a film" });

const instanceOf = ({ role, dialogue, turn }: HandTurn) =>
  ({ role, dialogue, turn, language: "en", kind: "multi" }) as const;

function resultOf(system: SystemId, suite: SuiteId, turns: readonly HandTurn[]): SuiteResult {
  const scores = turns.flatMap((turn): ScoreRow[] => {
    const nll = turn.nll[system];
    return nll === null ? [] : [{ ...instanceOf(turn), tokens: turn.tokens, nll }];
  });
  const answers = turns.map((turn): AnswerRow => ({
    ...instanceOf(turn),
    text: `${system} says ${turn.dialogue}`,
    audio: `audio/${turn.dialogue}-${turn.turn}.wav`,
    sha256: null,
    seconds: 2,
    textTokens: 3,
    latencySeconds: 1,
    failure: null,
  }));
  const measures = turns.map((turn): MeasureRow => ({
    ...instanceOf(turn),
    measure: "duration",
    unit: "s",
    value: 1 + turn.turn + SYSTEMS.indexOf(system),
    reason: null,
  }));
  return {
    system,
    suite,
    expected: turns.map(instanceOf),
    scores,
    answers,
    measures,
    answersFolder: "/nowhere",
  };
}

/** One turn of 10 tokens per role; the base model needs 3 nats a token and the checkpoints gain what is given. */
export const byGains = (prefix: string, gains: readonly number[], lastGains = gains): readonly HandTurn[] =>
  gains.map((gain, index) => ({
    role: `${prefix}${String(index).padStart(2, "0")}`,
    dialogue: `${prefix}${String(index).padStart(2, "0")}-multi-0`,
    turn: 0,
    tokens: 10,
    nll: { base: 30, chosen: 30 - 10 * gain, last: 30 - 10 * (lastGains[index] ?? gain) },
  }));

/** The input with another result for one system and suite. */
export const withResult = (
  input: ReportInput,
  at: { readonly system: string; readonly suite: SuiteId },
  change: (result: SuiteResult) => Partial<SuiteResult>,
): ReportInput => ({
  ...input,
  evaluation: {
    ...input.evaluation,
    results: input.evaluation.results.map((result) =>
      result.system === at.system && result.suite === at.suite ? { ...result, ...change(result) } : result,
    ),
  },
});
