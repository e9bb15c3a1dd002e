import { TOKENS } from "./estimate-facts.ts";
import type { Recipe } from "./schema.ts";

/** What a data set's lock says of the splits that are trained on, and of dev. */
export interface SplitCounts {
  readonly rows: number;
  readonly turns: number;
  /** Of the users' audio, which is all that the model hears. */
  readonly audioSeconds: number;
}

export interface TokenCounts {
  /** Mean tokens of a dialogue, cut at `maxTokens`. */
  readonly perDialogue: number;
  /** Of those, the ones that are learnt from. */
  readonly labelsPerDialogue: number;
  /** `counted`: audio from the lock, text by the reference's means; `reference`: all by its means. */
  readonly from: "counted" | "reference";
}

/** Tokens of a dialogue: 25 for each second of audio, and text by the means of the published corpus, for locks hold no text. Pure. */
export const countTokens = (
  { training }: Pick<Recipe, "training">,
  counts: SplitCounts | null,
): TokenCounts => {
  const cut = (tokens: number): number => Math.min(training.maxTokens, tokens);
  if (counts === null || counts.rows === 0) {
    return {
      perDialogue: cut(TOKENS.dialogue),
      labelsPerDialogue: TOKENS.turnsPerDialogue * TOKENS.answer,
      from: "reference",
    };
  }
  const turns = counts.turns / counts.rows;
  const audio = (TOKENS.perAudioSecond * counts.audioSeconds) / counts.rows;
  return {
    perDialogue: cut(TOKENS.system + audio + turns * (TOKENS.answer + TOKENS.perTurn)),
    labelsPerDialogue: turns * TOKENS.answer,
    from: "counted",
  };
};
