import { textWidth } from "./text-width.ts";

/** A paragraph as lines of at most `width` columns, broken at spaces; a longer word stays whole. */
export const wrap = (text: string, width: number): string[] =>
  text.split(" ").reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last === undefined) return [word];
    return textWidth(longer) <= width ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, []);
