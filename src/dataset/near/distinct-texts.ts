import { compare } from "../text.ts";
import { exactKey, nearText, type NearDialogue } from "./near-text.ts";
import type { NearText } from "./settings.ts";

/** Dialogues whose texts are equal but for form, case, spaces and punctuation. */
export interface SameText {
  /** The first of them by id; its text is the one that is embedded. */
  readonly id: string;
  readonly text: string;
  readonly key: string;
  /** The others, by id. */
  readonly others: readonly string[];
}

/** Dialogues in any order, grouped by text; groups by the id of their first. */
export const distinctTexts = (dialogues: readonly NearDialogue[], scope: NearText): SameText[] => {
  const groups = new Map<string, { id: string; text: string; key: string; others: string[] }>();
  for (const dialogue of dialogues.toSorted((a, b) => compare(a.id, b.id))) {
    const text = nearText(dialogue, scope);
    const key = exactKey(text);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { id: dialogue.id, text, key, others: [] });
    else group.others.push(dialogue.id);
  }
  return [...groups.values()];
};
