const ESCAPE = "\u001b";
const STYLING = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);

/**
 * Text as a terminal may be given it: control characters, which could move the cursor or hide text, become `\u001b`;
 * line breaks, tabs and emphasis stay.
 */
export const visible = (text: string): string =>
  text
    .split(STYLING)
    .map((part, at) => (at % 2 === 1 ? part : withoutControls(part)))
    .join("");

/** The same for text that is not ours, in which emphasis has no business either. */
export const visibleForeign = (text: string): string => withoutControls(text);

function withoutControls(text: string): string {
  return text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (found) =>
      found === "\n" || found === "\t" ? found : `\\u${hex(found)}`,
    );
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, "0");
}
