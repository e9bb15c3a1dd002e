import { REFERENCE_BACKENDS } from "../schema.ts";
import { audioColumn } from "../shard/columns.ts";
import type { DefectList } from "./defects.ts";
import type { RoleFacts } from "./role-facts.ts";

const ANSWERS = ["role_audio", ...REFERENCE_BACKENDS.map(audioColumn)];
const READ: ReadonlySet<string> = new Set(["index", "user_text", "user_audio", "role_text", ...ANSWERS]);

/** What a turn of a manifest lacks, and what it has that a pack does not read: a misspelt name is both. */
export const noteTurn = (
  turn: Readonly<Record<string, unknown>>,
  { stem, place, defects }: { readonly stem: string; readonly place: string; readonly defects: DefectList },
): void => {
  for (const name of Object.keys(turn))
    if (!READ.has(name))
      defects.add(
        { code: "unread_field", role: null, detail: "fields of a turn that a pack does not read" },
        `${place}: ${name}`,
      );
  const isSpoken = ANSWERS.some((name) => isThere(turn[name]));
  if (!isSpoken) defects.add({ code: "role_audio_missing", role: stem, detail: UNSPOKEN }, place);
};

/** What a pack makes of an answer without audio. */
export const UNSPOKEN =
  "answers without audio: a pack leaves their dialogues out, unless checks.answerAudio is keep";

const isThere = (audio: unknown): boolean => audio !== undefined && audio !== null && audio !== "";

// Of all letters, those of the other script: more than names and quotations come to.
const OTHER_SHARE = 0.15;

/** A role whose language was guessed from answers in two scripts. */
export const noteLanguage = ({ stem, language, han, latin }: RoleFacts, defects: DefectList): void => {
  // A word of Latin has five letters, a Chinese one two.
  const [chinese, english] = [han * 2, latin];
  if (language !== undefined || Math.min(chinese, english) <= OTHER_SHARE * (chinese + english)) return;
  defects.add({
    code: "language_guessed",
    role: stem,
    detail: `${Math.round((100 * chinese) / (chinese + english))} % of its answers is Chinese, the rest in Latin letters: is its language right in the role manifest?`,
  });
};
