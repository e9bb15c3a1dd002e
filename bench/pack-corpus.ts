import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openVoice, randomOf, type Speak } from "./pack-voice.ts";
import { sentence, wordsOf, type Language } from "./pack-words.ts";

/** A corpus of clips of real lengths, as a manifest: users' clips of 16 kHz, and answers of another rate if so wished. */
export interface CorpusOptions {
  readonly folder: string;
  /** Bytes of audio that the manifest refers to. */
  readonly bytes: number;
  /** Of the answers, in Hz. */
  readonly answerRate: number;
  /** How many roles a clip is used by: 1 for all clips different. Test sessions share none. */
  readonly sharedBy: number;
}

export const Corpus = z.strictObject({
  dialogues: z.int(),
  clips: z.int(),
  /** Bytes of audio, each clip as often as it is used. */
  bytes: z.int(),
  /** Files in the order of the manifest, relative to the folder. */
  files: z.array(z.string()),
});
export type Corpus = Readonly<z.infer<typeof Corpus>>;

const ROLES = 20;
const HELD_OUT = [3, 7, 19] as const;
const TEST_PER_ROLE = 4;
const CHARACTERS_PER_SECOND: Readonly<Record<Language, number>> = { en: 14, zh: 4 };

const languageOf = (role: number): Language => (role % 4 === 3 ? "zh" : "en");
const nameOf = (role: number): string => `voice_${String(role).padStart(2, "0")}`;

/** The spec of such a corpus for a project; `path` leads to its folder. */
export const corpusSpec = (name: string, path: string): string => `schemaVersion: 1
name: ${name}
description: Generated clips of real lengths
licence: CC0-1.0
source: { format: manifest, path: ${JSON.stringify(path)}, revision: generated, roles: roles.json, trainReference: cosyvoice2 }
splits: { by: spec, seed: 20, heldOutRoles: [${HELD_OUT.map(nameOf).join(", ")}] }
expected: { roles: ${ROLES}, heldOutRoles: ${HELD_OUT.length}, testSessions: ${ROLES * TEST_PER_ROLE} }
`;

/** Writes it: `audio/`, `dialogues.jsonl` and `roles.json`. The same options give the same bytes. */
export const writeCorpus = (options: CorpusOptions): Corpus => {
  const { folder, bytes } = options;
  mkdirSync(join(folder, "audio"), { recursive: true });
  writeFileSync(
    join(folder, "roles.json"),
    JSON.stringify(Array.from({ length: ROLES }, (_, role) => entryOf(role))),
  );
  const clips = openClips(options);
  const manifest = openSync(join(folder, "dialogues.jsonl"), "w");
  let dialogues = 0;
  for (let round = 0; clips.bytes() < bytes || round < TEST_PER_ROLE + 4; round++)
    for (let role = 0; role < ROLES; role++, dialogues++)
      writeSync(manifest, `${JSON.stringify(dialogueOf(role, round, clips))}\n`);
  closeSync(manifest);
  return { dialogues, clips: clips.files.length, bytes: clips.bytes(), files: clips.files };
};

const entryOf = (role: number): object => ({
  stem: nameOf(role),
  slug: nameOf(role),
  displayName: `Voice ${role}`,
  language: languageOf(role),
  source: "generated",
  heldOut: HELD_OUT.some((held) => held === role),
});

interface Clips {
  readonly files: string[];
  bytes(): number;
  /** Path of a clip of about so many seconds. */
  take(
    at: { readonly role: number; readonly number: number; readonly isTest: boolean },
    from: number,
    to: number,
  ): Taken;
}
interface Taken {
  readonly path: string;
  readonly seconds: number;
}

function openClips({ folder, answerRate, sharedBy }: CorpusOptions): Clips {
  const voices: Record<"user" | "role", Speak> = { user: openVoice(16_000), role: openVoice(answerRate) };
  const files: string[] = [];
  const made = new Map<string, number>();
  let bytes = 0;
  return {
    files,
    bytes: () => bytes,
    take: ({ role, number, isTest }, from, to) => {
      const who = to > 6 ? "role" : "user";
      const owner = isTest ? `t${role}` : String(Math.floor(role / sharedBy));
      const path = `audio/${owner}/${number}-${who}.wav`;
      const seed =
        number * 4_001 + (isTest ? 1_000 + role : Math.floor(role / sharedBy)) * 2 + (who === "user" ? 0 : 1);
      const seconds = from + randomOf(seed)() * (to - from);
      if (!made.has(path)) {
        const clip = voices[who](seed, seconds);
        mkdirSync(join(folder, "audio", owner), { recursive: true });
        writeFileSync(join(folder, path), clip);
        made.set(path, clip.length);
      }
      bytes += made.get(path) ?? 0;
      files.push(path);
      return { path, seconds };
    },
  };
}

function dialogueOf(role: number, round: number, clips: Clips): object {
  const language = languageOf(role);
  const isTest = round < TEST_PER_ROLE;
  const turns = round % 2 === 0 ? 1 : 2 + (round % 3);
  return {
    role_id: nameOf(role),
    split: isTest ? "test" : "train",
    system_prompt: sentence(language, wordsOf(language, role + 7, 120)),
    context: sentence(language, wordsOf(language, role * 1_000 + (round % 50), 150)),
    turns: Array.from({ length: turns }, (_, turn) => {
      const number = round * 4 + turn;
      const user = clips.take({ role, number, isTest }, 3, 6);
      const answer = clips.take({ role, number, isTest }, 4, 10);
      const words = (seed: number, seconds: number): string =>
        sentence(
          language,
          wordsOf(
            language,
            seed,
            Math.round((seconds * CHARACTERS_PER_SECOND[language]) / (language === "en" ? 5 : 2)),
          ),
        );
      const seed = (role * 1_000_000 + number) * 2;
      return {
        user_text: words(seed, user.seconds),
        user_audio: user.path,
        role_text: words(seed + 1, answer.seconds),
        role_audio: answer.path,
      };
    }),
  };
}
