// Ranges of East Asian wide and fullwidth characters and of pictographs, which take two columns of a terminal.
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1f9ff],
  [0x20000, 0x3fffd],
];

const ESCAPE = "\u001b";
const STYLING = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "g");
const segmenter = new Intl.Segmenter("en");

/** Columns that a text takes on a terminal; emphasis and combining marks take none. */
export const textWidth = (text: string): number => {
  const shown = text.replace(STYLING, "");
  if (PLAIN.test(shown)) return shown.length;
  return lettersOf(shown).reduce((sum, letter) => sum + letterWidth(letter), 0);
};

// Nearly all of what is ever measured, and a thousand rows of it.
const PLAIN = /^[\x20-\x7e]*$/;

/** The text, cut to at most `width` columns with an ellipsis. */
export const cutText = (text: string, width: number): string => {
  if (textWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const letter of lettersOf(text)) {
    used += letterWidth(letter);
    if (used > width - 1) break;
    kept += letter;
  }
  return `${kept}…`;
};

// What a reader takes for one letter: a base with its combining marks, or a joined pictograph.
function lettersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function letterWidth(letter: string): number {
  if (/^[\p{Mn}\p{Me}\p{Cf}]/u.test(letter)) return 0;
  const point = letter.codePointAt(0) ?? 0;
  return WIDE.some(([first, last]) => point >= first && point <= last) ? 2 : 1;
}
