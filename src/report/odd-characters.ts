// What a reader cannot see or what changes how the rest is shown: control and format characters, unassigned and private
// ones, halves of surrogates, and the mark of bytes that were no UTF-8. Line breaks, tabs and joiners are text.
const ODD = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\u2028\u2029\uFFFD]/gu;
const TEXT = new Set(["\n", "\r", "\t", "\u200C", "\u200D"]);

export interface TextPiece {
  readonly text: string;
  /** True for one character that is no readable text. */
  readonly odd: boolean;
}

/** The text cut at its unreadable characters, in order and complete. */
export const textPieces = (text: string): readonly TextPiece[] => {
  const pieces: TextPiece[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(ODD)) {
    if (TEXT.has(character) || isEmojiTag(character)) continue;
    if (index > end) pieces.push({ text: text.slice(end, index), odd: false });
    pieces.push({ text: character, odd: true });
    end = index + character.length;
  }
  return end === text.length ? pieces : [...pieces, { text: text.slice(end), odd: false }];
};

/** `U+0007` */
export const codePointName = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Text for places without markup: an unreadable character becomes its name, so that nothing is hidden. */
export const spelledOut = (text: string): string =>
  textPieces(text)
    .map((piece) => (piece.odd && piece.text !== "\uFFFD" ? `[${codePointName(piece.text)}]` : piece.text))
    .join("");

// Flags of regions are spelled with these.
function isEmojiTag(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code >= 0xe0020 && code <= 0xe007f;
}
