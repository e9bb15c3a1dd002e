import { textWidth } from "./text-width.ts";

/** A text as lines of at most `width` columns, broken at its own line ends and at spaces; a longer word stays whole. */
export const wrap = (text: string, width: number): string[] =>
  text.split("\n").flatMap((paragraph) => wrapped(paragraph, width));

const wrapped = (paragraph: string, width: number): string[] =>
  paragraph.split(" ").reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last === undefined) return [word];
    return textWidth(longer) <= width ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, []);
