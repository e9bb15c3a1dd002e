import { randomOf } from "./pack-voice.ts";

// Invented words: sentences of them share few, so that no two are near by accident.
const WORDS = 4_000;
const FIRST_HAN = 0x4e00;
const HAN = 2_000;

const english = Array.from({ length: WORDS }, (_, index) => {
  const random = randomOf(index + 1);
  const letter = (of: string): string => of[Math.floor(random() * of.length)] ?? "a";
  return letter("bdfgklmnprstv") + letter("aeiou") + letter("lmnrst") + letter("aeiou") + letter("dklmnst");
});
const chinese = Array.from({ length: WORDS }, (_, index) => {
  const random = randomOf(index + 100_001);
  const character = (): string => String.fromCodePoint(FIRST_HAN + Math.floor(random() * HAN));
  return character() + character();
});

export type Language = "en" | "zh";

/** Words of a language, chosen by a seed. English words have five letters, Chinese ones two characters. */
export const wordsOf = (language: Language, seed: number, count: number): string[] => {
  const random = randomOf(seed);
  const all = language === "en" ? english : chinese;
  return Array.from({ length: count }, () => all[Math.floor(random() * WORDS)] ?? "");
};

/** Words as a sentence. */
export const sentence = (language: Language, words: readonly string[]): string =>
  language === "en" ? `${words.join(" ")}.` : `${words.join("")}。`;

/** The words of such a sentence. */
export const wordsIn = (text: string): string[] =>
  /\p{Script=Han}/u.test(text)
    ? (text.replaceAll(/[^\p{Script=Han}]/gu, "").match(/../gsu) ?? [])
    : (text.match(/\p{L}+/gu) ?? []);
