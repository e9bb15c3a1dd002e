import type { DatasetSpec, Language, ReferenceBackend } from "../schema.ts";
import { quote } from "../text.ts";
import { metaText } from "./meta-text.ts";

/** An answer as it is checked: its text, and the seconds of each clip that speaks it. */
export interface SpokenAnswer {
  readonly text: string;
  readonly seconds: Readonly<Partial<Record<ReferenceBackend, number>>>;
}

export interface CheckFault {
  /** `wrong_language`, `speech_cut_off`, `speech_too_long`, `meta_text` or `stage_direction`. */
  readonly reason: string;
  readonly turn: number;
  readonly detail: string;
}

/** The first thing that makes the answers of a dialogue unfit to learn from, or undefined. Pure. */
export const checkAnswers = (
  language: Language,
  answers: readonly SpokenAnswer[],
  checks: DatasetSpec["checks"],
): CheckFault | undefined => {
  for (const [turn, answer] of answers.entries()) {
    const fault =
      (checks.wrongLanguage === "drop" ? wrongLanguage(language, answer.text) : undefined) ??
      (checks.metaText === "drop" ? metaText(answer.text) : undefined) ??
      wrongSpeed(answer, checks.charactersPerSecond[language]);
    if (fault) return { ...fault, turn };
  }
  return undefined;
};

type Fault = Omit<CheckFault, "turn">;

// Of fewer letters nothing is concluded: "OK!" is said in every language.
const FEWEST_LETTERS = 8;

function wrongLanguage(language: Language, text: string): Fault | undefined {
  const letters = text.match(/\p{L}/gu) ?? [];
  if (letters.length < FEWEST_LETTERS) return undefined;
  const script = language === "zh" ? /\p{Script=Han}/u : /\p{Script=Latin}/u;
  const share = letters.filter((letter) => script.test(letter)).length / letters.length;
  if (share >= 0.5) return undefined;
  return {
    reason: "wrong_language",
    detail: `${Math.round(share * 100)} % of its letters are ${language === "zh" ? "Chinese characters" : "Latin"}: ${quote(text)}`,
  };
}

// Silence around a clip, and the pause before a short word.
const SLACK_SECONDS = { short: 0.2, long: 2 } as const;

function wrongSpeed(
  { text, seconds }: SpokenAnswer,
  [slowest, fastest]: readonly [number, number],
): Fault | undefined {
  const characters = text.replaceAll(/[\s\p{P}\p{S}]/gu, "").length;
  for (const [backend, length] of Object.entries(seconds)) {
    if (length === undefined) continue;
    const said = `${characters} characters in ${length.toFixed(2)} s of ${backend}`;
    if (length + SLACK_SECONDS.short < characters / fastest)
      return {
        reason: "speech_cut_off",
        detail: `${said}, at most ${fastest} a second can be: ${quote(text)}`,
      };
    if (length - SLACK_SECONDS.long > characters / slowest)
      return {
        reason: "speech_too_long",
        detail: `${said}, at least ${slowest} a second were expected: ${quote(text)}`,
      };
  }
  return undefined;
}
