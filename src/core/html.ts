/** Text that is already HTML; anything else is escaped when it enters a template. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Piece = Html | string | number | undefined | null | false | readonly Piece[];

/** Escaping template tag: `html\`<b>${name}</b>\`` is safe whatever `name` holds. */
export const html = (strings: TemplateStringsArray, ...values: readonly Piece[]): Html =>
  new Html(
    strings.map((text, index) => text + (index < values.length ? render(values[index]) : "")).join(""),
  );

/** Marks text as HTML without escaping: only for text that we made ourselves (a chart's SVG). */
export const raw = (text: string): Html => new Html(text);

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);

function render(piece: Piece): string {
  if (piece === undefined || piece === null || piece === false) return "";
  if (piece instanceof Html) return piece.text;
  if (Array.isArray(piece)) return piece.map((inner: Piece) => render(inner)).join("");
  return escapeHtml(String(piece));
}
