import type { Cell } from "./cell.ts";
import { cellText } from "./format.ts";

/** Words, or the number of a cell with its interval. */
export type Part = string | { readonly cell: string };

/** One statement of the verdict. Every number in it is a cell, so that it can be traced. */
export interface Sentence {
  /** What it speaks of, for tests and styles. */
  readonly topic: string;
  readonly parts: readonly Part[];
}

/** Template tag: text stays text, a cell becomes a reference to it. */
export const say =
  (topic: string) =>
  (strings: TemplateStringsArray, ...values: readonly (string | Cell)[]): Sentence => {
    const parts: Part[] = [];
    for (const [index, text] of strings.entries()) {
      parts.push(text);
      const value = values[index];
      if (value !== undefined) parts.push(typeof value === "string" ? value : { cell: value.key });
    }
    return { topic, parts: merged(parts) };
  };

/** The sentence as plain text. */
export const sentenceText = (sentence: Sentence, cells: ReadonlyMap<string, Cell>): string =>
  sentence.parts
    .map((part) => {
      if (typeof part === "string") return part;
      const cell = cells.get(part.cell);
      return cell === undefined ? "" : cellText(cell);
    })
    .join("");

function merged(parts: readonly Part[]): readonly Part[] {
  return parts.reduce<readonly Part[]>((done, part) => {
    const last = done.at(-1);
    if (typeof part === "string" && typeof last === "string") return [...done.slice(0, -1), last + part];
    return part === "" ? done : [...done, part];
  }, []);
}
