import type { DialogueKind } from "../schema.ts";
import type { NearText } from "./settings.ts";

/** What near-duplicate removal reads of a dialogue. */
export interface NearDialogue {
  /** Unique within the role. */
  readonly id: string;
  readonly kind: DialogueKind;
  readonly turns: readonly { readonly userText: string; readonly roleText: string }[];
}

/** The text that stands for a dialogue: its first question, or all its turns, one text a line. */
export const nearText = ({ turns }: NearDialogue, scope: NearText): string =>
  scope === "first_user"
    ? (turns[0]?.userText ?? "")
    : turns.map(({ userText, roleText }) => `${userText}\n${roleText}`).join("\n");

/**
 * Texts with equal keys are one text: they differ in form (NFKC), case, spaces and punctuation at most. Between Chinese
 * characters a space says nothing; in English it does ("no one", "noone"). A text of punctuation alone stays as it is.
 */
export const exactKey = (text: string): string => {
  const folded = caseFolded(text.normalize("NFKC")).normalize("NFKC");
  const words = folded.replaceAll(/[\p{P}\p{Z}\p{C}\s]+/gu, " ").trim();
  const key = words.replaceAll(/(?<=\p{Script=Han}) | (?=\p{Script=Han})/gu, "");
  return key === "" ? folded.trim() : key;
};

// JavaScript has no case folding. Down, up and down again joins what folding joins (ẞ, ß and SS; ſ and s), but for the final
// sigma, which lower case writes by its place in the word.
function caseFolded(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}
