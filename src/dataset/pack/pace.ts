import { REFERENCE_BACKENDS, type DatasetSpec, type Language } from "../schema.ts";
import type { SpokenAnswer } from "./checks.ts";
import { dropOf, type Survey } from "./survey.ts";
import type { Entry } from "./entry.ts";

/** How long an answer was spoken by one voice: its turn, the index of the voice, its length in characters, and milliseconds. */
export type Spoken = Entry["spoken"][number];

// Between Chinese, a Latin letter takes a third of the time of a character.
const LETTERS_PER_CHARACTER = 3;

/** Every clip of every answer, as an Entry keeps it. */
export const spokenOf = (language: Language, answers: readonly SpokenAnswer[]): Spoken[] =>
  answers.flatMap(({ text, seconds }, turn) =>
    REFERENCE_BACKENDS.flatMap((backend, voice): Spoken[] => {
      const length = seconds[backend];
      return length === undefined
        ? []
        : [[turn, voice, charactersOf(text, language), Math.round(length * 1000)]];
    }),
  );

function charactersOf(text: string, language: Language): number {
  const said = text.replaceAll(/[\s\p{P}\p{S}]/gu, "");
  if (language === "en") return said.length;
  const letters = said.match(/\p{Script=Latin}/gu)?.length ?? 0;
  return Math.round(said.length - letters + letters / LETTERS_PER_CHARACTER);
}

// A short answer has its own pace, and of a few answers there is no usual one.
const SHORTEST: Readonly<Record<Language, number>> = { en: 30, zh: 12 };
const FEWEST = 20;

interface Judged {
  readonly entry: Entry;
  readonly spoken: Spoken;
  /** Characters a second. */
  readonly pace: number;
}

/**
 * Leaves out dialogues with an answer that no voice can have finished: `factor` times as many characters a second, or more, as the
 * median of its role and voice, or of its language and voice where the role has fewer than 20 answers long enough. A synthesis that
 * stops after its first segment makes such clips, which no fixed bound finds: half of a slow answer is as fast as a hurried one.
 * Pure, and the same for any order.
 */
export const withoutHurried = (survey: Survey, factor: DatasetSpec["checks"]["hurried"]): Survey => {
  if (factor === null) return survey;
  const judged = survey.entries.flatMap((entry) =>
    entry.spoken.flatMap((spoken): Judged[] => {
      const [, , characters, milliseconds] = spoken;
      if (characters < SHORTEST[entry.language] || milliseconds === 0) return [];
      return [{ entry, spoken, pace: (characters * 1000) / milliseconds }];
    }),
  );
  const [byRole, byLanguage] = [
    medians(judged, (one) => one.entry.roleId),
    medians(judged, (one) => one.entry.language),
  ];
  const faults = new Map<Entry, { readonly turn: number; readonly detail: string }>();
  for (const one of judged) {
    const { entry, spoken, pace } = one;
    const ofRole = byRole(one);
    const usual = ofRole ?? byLanguage(one);
    if (usual === undefined || pace < factor * usual || faults.has(entry)) continue;
    const whose = ofRole === undefined ? "this language" : "this role";
    const [turn, voice, characters, milliseconds] = spoken;
    faults.set(entry, {
      turn,
      detail: `${characters} characters in ${(milliseconds / 1000).toFixed(2)} s of ${REFERENCE_BACKENDS[voice] ?? "?"}, ${pace.toFixed(1)} a second, where half of the answers of ${whose} have fewer than ${usual.toFixed(1)}`,
    });
  }
  const drops = [...faults].map(([entry, { turn, detail }]) => ({
    ...dropOf(entry, "speech_cut_off", detail),
    turn,
  }));
  return {
    entries: survey.entries.filter((entry) => !faults.has(entry)),
    drops: [...survey.drops, ...drops],
  };
};

function medians(
  judged: readonly Judged[],
  nameOf: (one: Judged) => string,
): (one: Judged) => number | undefined {
  const keyOf = (one: Judged): string => `${one.spoken[1]} ${nameOf(one)}`;
  const paces = new Map<string, number[]>();
  for (const one of judged) {
    const known = paces.get(keyOf(one));
    if (known) known.push(one.pace);
    else paces.set(keyOf(one), [one.pace]);
  }
  const middles = new Map<string, number>();
  for (const [key, all] of paces) {
    const middle = all.toSorted((a, b) => a - b)[all.length >> 1];
    if (middle !== undefined && all.length >= FEWEST) middles.set(key, middle);
  }
  return (one) => middles.get(keyOf(one));
}
