import { sha256 } from "../core/hash.ts";

/** One form for one text: NFC, so that a name typed on a Mac equals the same name typed elsewhere. */
export const nfc = (text: string): string => text.normalize("NFC");

/** What makes a text unusable, in words; undefined for a usable one. */
export const textFault = (text: string): string | undefined => {
  if (text.trim() === "") return "is empty";
  if (text.includes("\0")) return "holds a NUL character";
  if (/\p{Surrogate}/u.test(text)) return "holds half of a surrogate pair";
  return undefined;
};

/** Texts that differ only in form, case or spacing are the same text. */
export const normalised = (text: string): string =>
  text.normalize("NFKC").toLowerCase().replaceAll(/\s+/gu, " ").trim();

/** What two spellings of one name have in common: letters and digits, in one case. */
export const plainName = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, "");

/** SHA-256 of a question and its answer, normalised: what must not stand on both sides of a split. */
export const pairHash = (userText: string, roleText: string): string =>
  sha256(`${normalised(userText)}\u0000${normalised(roleText)}`);

/** SHA-256 of a question, normalised. */
export const questionHash = (userText: string): string => sha256(normalised(userText));

/** First words of a text for a message. */
export const quote = (text: string): string => JSON.stringify(shortened(text, 60));

/** A text for a message, cut where it is longer than any name: what should be one may be a whole file. */
export const shortened = (text: string, most = 200): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

/** Order by UTF-16 units: the same on every machine, unlike a locale's. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
