import type { AnswerRow, Instance, MeasureRow, ScoreRow } from "../../src/evaluate/index.ts";

/** Hand-made rows for tests: only what matters is given. */
export const instance = (dialogue: string, turn = 0, role = "thor"): Instance => ({
  dialogue,
  role,
  language: "en",
  kind: "single",
  turn,
});

export const score = (at: Instance, nll: number, tokens = 10): ScoreRow => ({ ...at, tokens, nll });

export const answer = (at: Instance, changes: Partial<AnswerRow> = {}): AnswerRow => ({
  ...at,
  text: "Well met.",
  audio: `audio/${at.dialogue}-${at.turn}.wav`,
  sha256: "0".repeat(64),
  seconds: 1.5,
  textTokens: 4,
  latencySeconds: 0.2,
  failure: null,
  ...changes,
});

export const measure = (at: Instance, name: string, value: number | null): MeasureRow => ({
  ...at,
  measure: name,
  value,
  unit: "s",
  reason: value === null ? "no audio" : null,
});
