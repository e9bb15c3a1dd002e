import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { CHINESE_STEMS, LIKELY_HELD_OUT } from "../src/dataset/import/speechrole.ts";
import { openVoice, randomOf } from "./pack-voice.ts";
import { sentence, wordsOf, type Language } from "./pack-words.ts";
import { DEFECTS, type Parts, type RawTurn } from "./soak-defects.ts";

export interface Planted {
  readonly conversations: number;
  readonly bytes: number;
  /** How many dialogues must be dropped for each reason. */
  readonly drops: Readonly<Record<string, number>>;
}

const ROLES = 98;
const TEST_OF_KIND = 2;
const QUESTION_WORDS = 16;
const ANSWER_WORDS = 4;
// Near to another dialogue, or the same; the others are planted by DEFECTS.
const REPEATED = ["duplicate", "near_duplicate", "near_test"] as const;

/** Stems of 98 roles, those of SpeechRole-Data that are known by name among them. */
const STEMS = [
  ...new Set([
    ...CHINESE_STEMS,
    ...LIKELY_HELD_OUT,
    ...Array.from({ length: ROLES }, (_, index) => `Invented ${String(index).padStart(2, "0")}`),
  ]),
].slice(0, ROLES);

const speak = openVoice(16_000);

/**
 * Writes a corpus in the layout of SpeechRole-Data, with short clips: audio inline, and for every fourth role in files.
 * `each` dialogues are planted for every reason to drop one. The same numbers give the same bytes.
 */
export const writeRelease = (folder: string, conversations: number, each: number): Planted => {
  const reasons = [...Object.keys(DEFECTS), ...REPEATED];
  const planted = reasons.length * each;
  // The first of a pair of duplicates stands beside the second.
  const clean = conversations - planted - each - ROLES * TEST_OF_KIND * 2;
  if (clean < ROLES * 8) throw new Error(`${conversations} conversations are too few for ${planted} defects`);
  for (const under of ["train/single", "train/multi", "test_data/single_turn", "test_data/multi_turn"])
    mkdirSync(join(folder, under), { recursive: true });
  mkdirSync(join(folder, "role_metadata", "role_profiles"), { recursive: true });
  let bytes = 0;
  for (const [index, stem] of STEMS.entries()) {
    const role = openRole(folder, stem, index);
    const mine = Math.floor(clean / ROLES) + (index < clean % ROLES ? 1 : 0);
    role.test();
    const singles = Math.ceil(mine / 2);
    role.clean("single", singles);
    for (const [number, reason] of reasons.entries())
      for (let copy = 0; copy < each; copy++) if ((number * 5 + copy) % ROLES === index) role.plant(reason);
    role.clean("multi", mine - singles);
    bytes += role.close();
    writeFileSync(
      join(folder, "role_metadata", "role_profiles", `${stem}_profile.txt`),
      `${sentence("en", wordsOf("en", index + 5, 60))}\n`,
    );
  }
  return { conversations, bytes, drops: Object.fromEntries(reasons.map((reason) => [reason, each])) };
};

type Kind = "single" | "multi";

interface Role {
  test(): void;
  clean(kind: Kind, count: number): void;
  plant(reason: string): void;
  close(): number;
}

function openRole(folder: string, stem: string, index: number): Role {
  const language: Language = CHINESE_STEMS.has(stem) ? "zh" : "en";
  const inFiles = index % 4 === 0;
  const audio = join("audio", String(index));
  if (inFiles) mkdirSync(join(folder, audio), { recursive: true });
  let number = index * 1_000_000;
  let bytes = 0;
  const count = (text: string | Buffer): void => void (bytes += text.length);
  const clip = (seconds: number): Buffer => speak(number++, seconds);
  const words = (howMany: number): string[] => wordsOf(language, number++, howMany);
  const dataUrl = (of: Uint8Array): string => `data:audio/wav;base64,${Buffer.from(of).toString("base64")}`;
  const stored = (key: string, suffix: string, wav: Buffer): Record<string, string> => {
    if (!inFiles) return { [`${key}_speech_base64${suffix}`]: dataUrl(wav) };
    const path = join(audio, `${number++}.wav`);
    writeFileSync(join(folder, path), wav);
    count(wav);
    return { [`${key}_speech_path${suffix}`]: path };
  };
  const length = (from: number, to: number): number => from + randomOf(number)() * (to - from);
  const turnOf = (question: readonly string[], references: readonly string[]): RawTurn => ({
    user: sentence(language, question),
    role: sentence(language, words(ANSWER_WORDS)),
    ...stored("user", "", clip(length(0.25, 0.3))),
    ...Object.assign({}, ...references.map((suffix) => stored("role", suffix, clip(length(0.35, 0.45))))),
  });
  const inlineTurn = (): RawTurn => ({
    user: sentence(language, words(QUESTION_WORDS)),
    role: sentence(language, words(ANSWER_WORDS)),
    user_speech_base64: dataUrl(clip(0.3)),
    role_speech_base64: dataUrl(clip(0.4)),
  });
  const parts: Parts = {
    language,
    turn: inlineTurn,
    clip,
    dataUrl,
    answer: (howMany) => sentence(language, words(howMany)),
  };
  const files = {
    single: openList(join(folder, "train", "single", `${stem}.json`), count),
    multi: openList(join(folder, "train", "multi", `${stem}.json`), count),
  };
  const prompt = sentence(language, words(40));
  const scenes = Array.from({ length: 8 }, () => sentence(language, words(50)));
  const dialogue = (turns: readonly object[]): string =>
    JSON.stringify({ dialogue: turns, context: scenes[number % scenes.length], system_prompt: prompt });
  const questions: string[][] = [];
  const tested: string[][] = [];
  let near = 0;
  // One word of a question is another one: near, and not the same.
  const nearly = (question: readonly string[]): string[] => [...question.slice(1), ...words(1)];
  const repeat: Readonly<Record<string, () => string>> = {
    duplicate: () => {
      const turn = inlineTurn();
      files.single.add(dialogue([turn]));
      return dialogue([{ ...turn, user_speech_base64: dataUrl(clip(0.3)) }]);
    },
    near_duplicate: () => dialogue([turnOf(nearly(questions[near++] ?? []), [""])]),
    near_test: () => dialogue([turnOf(nearly(tested[near++ % tested.length] ?? []), [""])]),
  };
  return {
    test: () => {
      for (const kind of ["single", "multi"] as const) {
        const list = openList(join(folder, "test_data", `${kind}_turn`, `${stem}.json`), count);
        for (let session = 0; session < TEST_OF_KIND; session++) {
          const first = words(QUESTION_WORDS);
          tested.push(first);
          const turns = kind === "single" ? 1 : 3;
          list.add(
            dialogue(
              Array.from({ length: turns }, (_, turn) =>
                turnOf(turn === 0 ? first : words(QUESTION_WORDS), ["1", "2", "3"]),
              ),
            ),
          );
        }
        list.close();
      }
    },
    clean: (kind, howMany) => {
      for (let made = 0; made < howMany; made++) {
        const first = words(QUESTION_WORDS);
        if (kind === "single") questions.push(first);
        const turns = kind === "single" ? 1 : 2 + (made % 3);
        files[kind].add(
          dialogue(
            Array.from({ length: turns }, (_, turn) =>
              turnOf(turn === 0 ? first : words(QUESTION_WORDS), [""]),
            ),
          ),
        );
      }
    },
    plant: (reason) => {
      const made = repeat[reason]?.() ?? DEFECTS[reason]?.(parts) ?? [];
      files.single.add(typeof made === "string" ? made : dialogue(made));
    },
    close: () => {
      files.single.close();
      files.multi.close();
      return bytes;
    },
  };
}

function openList(path: string, count: (text: string) => void): { add(text: string): void; close(): void } {
  const file = openSync(path, "w");
  let separator = "[\n";
  const write = (text: string): void => {
    writeSync(file, text);
    count(text);
  };
  return {
    add: (text) => {
      write(`${separator}${text}`);
      separator = ",\n";
    },
    close: () => {
      write(separator === "[\n" ? "[]\n" : "\n]\n");
      closeSync(file);
    },
  };
}
