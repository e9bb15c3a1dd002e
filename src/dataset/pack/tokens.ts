import { CLIP_RATE } from "../../audio/index.ts";
import type { Language, Tokens } from "../schema.ts";
import type { Entry } from "./entry.ts";

// The audio tower makes 25 tokens of a second. The makers of Qwen give 3 to 4 English and 1.5 to 1.8 Chinese
// characters for a token; markers of a turn and of its audio are 12 tokens.
const AUDIO_PER_SECOND = 25;
const CHARACTERS_PER_TOKEN: Readonly<Record<Language, number>> = { en: 3.8, zh: 1.6 };
const PER_TURN = 12;

/** Tokens of a dialogue: its questions' audio exactly, its text estimated by characters of the role's language. */
export const tokensOf = ({ language, userSamples, characters, turns }: Entry): Tokens => {
  const perToken = CHARACTERS_PER_TOKEN[language];
  const labels = Math.ceil(characters.answers / perToken);
  return {
    audio: Math.round((AUDIO_PER_SECOND * userSamples) / CLIP_RATE),
    text: Math.ceil(characters.prompt / perToken) + labels + turns * PER_TURN,
    labels,
  };
};

/** Tokens of many dialogues. */
export const sumTokens = (entries: readonly Entry[]): Tokens => {
  const total = { audio: 0, text: 0, labels: 0 };
  for (const entry of entries) {
    const tokens = tokensOf(entry);
    total.audio += tokens.audio;
    total.text += tokens.text;
    total.labels += tokens.labels;
  }
  return total;
};
