import { JsonFault, parseStrictJson } from "./parse.ts";

/** What may be mended in text that a model wrote as JSON. Nothing else is; every mending is counted. */
export const REPAIRS = [
  "code_fence",
  "prose",
  "ellipsis",
  "missing_comma",
  "trailing_comma",
  "fullwidth_punctuation",
  "unescaped_quote",
  "raw_control_character",
] as const;
export type Repair = (typeof REPAIRS)[number];

export interface Mended {
  readonly value: unknown;
  /** How often each kind of repair was made; empty for text that was JSON already. */
  readonly repairs: ReadonlyMap<Repair, number>;
}

/** Fixes beyond this number mean that the text is something else. */
const MOST_REPAIRS = 200;

interface Cursor {
  readonly text: string;
  at: number;
  readonly out: string[];
  /** Last character that counts, outside strings. */
  last: string;
  readonly repairs: Map<Repair, number>;
}

/**
 * A model's answer as JSON: strictly if it is JSON, else after a fixed list of repairs. A text that is cut off stays broken:
 * nothing is closed that was not. JsonFault with its offset in the text.
 */
export const parseMended = (text: string): Mended => {
  try {
    return { value: parseStrictJson(text.replace(/^\ufeff/, "")), repairs: new Map() };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return mended(text, error);
  }
};

function mended(text: string, first: JsonFault): Mended {
  const cursor: Cursor = { text, at: 0, out: [], last: "", repairs: new Map() };
  const end = body(cursor);
  while (cursor.at < end) step(cursor, end);
  const total = [...cursor.repairs.values()].reduce((sum, times) => sum + times, 0);
  if (total > MOST_REPAIRS)
    throw new JsonFault(`more than ${MOST_REPAIRS} repairs would be needed`, first.offset);
  try {
    return { value: parseStrictJson(cursor.out.join("")), repairs: cursor.repairs };
  } catch (error) {
    // The place in the mended text means nothing to anyone: the first fault of the given one does.
    throw error instanceof JsonFault ? first : error;
  }
}

// Text without the fence and the words around the JSON: from the first bracket to the last one.
function body(cursor: Cursor): number {
  const { text } = cursor;
  const start = text.search(/[[{]/);
  const end = Math.max(text.lastIndexOf("]"), text.lastIndexOf("}")) + 1;
  if (start === -1 || end <= start) return 0;
  const around = `${text.slice(0, start)}\n${text.slice(end)}`.replace(/^\ufeff/, "");
  if (around.includes("```")) count(cursor, "code_fence");
  if (around.replaceAll(/```(?:json)?/gi, "").trim() !== "") count(cursor, "prose");
  cursor.at = start;
  return end;
}

const WIDE: ReadonlyMap<string, string> = new Map([
  ["，", ","],
  ["：", ":"],
  ["｛", "{"],
  ["｝", "}"],
  ["［", "["],
  ["］", "]"],
]);
const CLOSING_QUOTES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["“", "”"],
  ["”", "”"],
  ["＂", "＂"],
]);

function step(cursor: Cursor, end: number): void {
  const character = cursor.text[cursor.at] ?? "";
  const ellipsis = /^(?:\.{3,}|…+)/.exec(cursor.text.slice(cursor.at, cursor.at + 12))?.[0];
  if (ellipsis !== undefined) {
    count(cursor, "ellipsis");
    cursor.at += ellipsis.length;
  } else if (CLOSING_QUOTES.has(character)) string(cursor, character, end);
  else if (/\s/.test(character)) {
    cursor.out.push(character === "\u3000" ? " " : character);
    cursor.at++;
  } else {
    const plain = WIDE.get(character);
    if (plain !== undefined) count(cursor, "fullwidth_punctuation");
    punctuation(cursor, plain ?? character);
    cursor.at++;
  }
}

function punctuation(cursor: Cursor, character: string): void {
  if (character === "," && ["", ",", "[", "{"].includes(cursor.last)) {
    // What an ellipsis between two commas leaves behind.
    count(cursor, "trailing_comma");
    return;
  }
  if ((character === "}" || character === "]") && cursor.last === ",") {
    count(cursor, "trailing_comma");
    dropComma(cursor);
  }
  if (character === "{" || character === "[") separate(cursor);
  push(cursor, character);
}

// Two values, or a value and a key, with nothing between them.
function separate(cursor: Cursor): void {
  if (!['"', "}", "]"].includes(cursor.last)) return;
  count(cursor, "missing_comma");
  cursor.out.push(",");
}

function string(cursor: Cursor, quote: string, end: number): void {
  const close = CLOSING_QUOTES.get(quote) ?? '"';
  if (quote !== '"') count(cursor, "fullwidth_punctuation");
  separate(cursor);
  const parts: string[] = [];
  for (let at = cursor.at + 1; at < end; at++) {
    const character = cursor.text[at] ?? "";
    if (character === "\\") parts.push(character, cursor.text[++at] ?? "");
    else if (character === close && (quote !== '"' || endsString(cursor.text, at))) {
      push(cursor, `"${parts.join("")}"`);
      cursor.at = at + 1;
      return;
    } else if (character === '"') {
      count(cursor, "unescaped_quote");
      parts.push('\\"');
    } else if (character < " ") {
      count(cursor, "raw_control_character");
      parts.push(JSON.stringify(character).slice(1, -1));
    } else parts.push(character);
  }
  // No end: what is left stays broken.
  cursor.out.push(cursor.text.slice(cursor.at, end));
  cursor.at = end;
}

// A quote ends its string where JSON goes on: at a comma or colon before the next quote, a closing bracket, or a new line with a key.
function endsString(text: string, at: number): boolean {
  const after = text.slice(at + 1, at + 200);
  return (
    /^\s*(?:[:：]|[,，]\s*(?:["“{[]|\.{3}|…|[}\]])|[}\]］｝]|$)/.test(after) ||
    /^\s*\n?\s*"[A-Za-z_]+"\s*[:：]/.test(after) ||
    /^\s*(?:,\s*)?(?:\.{3}|…)/.test(after)
  );
}

function push(cursor: Cursor, piece: string): void {
  cursor.out.push(piece);
  cursor.last = piece.at(-1) ?? "";
}

function dropComma({ out }: Cursor): void {
  const index = out.lastIndexOf(",");
  if (index !== -1) out.splice(index, 1);
}

function count({ repairs }: Cursor, repair: Repair): void {
  repairs.set(repair, (repairs.get(repair) ?? 0) + 1);
}
