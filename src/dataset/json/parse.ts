/** Where and why a text is not strict JSON; `offset` counts UTF-16 units from the start of the text. */
export class JsonFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.name = "JsonFault";
    this.offset = offset;
  }
}

interface Cursor {
  readonly text: string;
  at: number;
  depth: number;
}

const DEEPEST = 64;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z]+/y;
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** RFC 8259 and nothing else: duplicate keys, NaN, comments and trailing commas are a JsonFault with their place. */
export const parseStrictJson = (text: string): unknown => {
  const cursor: Cursor = { text, at: 0, depth: 0 };
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) throw new JsonFault("text after the end of the value", cursor.at);
  return value;
};

function readValue(cursor: Cursor): unknown {
  skipSpace(cursor);
  const character = cursor.text[cursor.at];
  if (character === undefined) throw new JsonFault("the text ends where a value should be", cursor.at);
  if (character === '"') return readString(cursor);
  if (character === "{") return nested(cursor, readObject);
  if (character === "[") return nested(cursor, readArray);
  return readScalar(cursor);
}

function nested<Value>(cursor: Cursor, read: (cursor: Cursor) => Value): Value {
  if (++cursor.depth > DEEPEST) throw new JsonFault(`nested deeper than ${DEEPEST} levels`, cursor.at);
  cursor.at++;
  const value = read(cursor);
  cursor.depth--;
  return value;
}

function readObject(cursor: Cursor): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  if (ends(cursor, "}")) return {};
  for (;;) {
    skipSpace(cursor);
    const start = cursor.at;
    if (cursor.text[start] !== '"') throw new JsonFault("expected a key in double quotes", start);
    const key = readString(cursor);
    if (entries.has(key))
      throw new JsonFault(`the key ${JSON.stringify(key)} stands twice in one object`, start);
    expect(cursor, ":");
    entries.set(key, readValue(cursor));
    if (ends(cursor, "}")) return Object.fromEntries(entries);
    expect(cursor, ",");
  }
}

function readArray(cursor: Cursor): unknown[] {
  const values: unknown[] = [];
  if (ends(cursor, "]")) return values;
  for (;;) {
    values.push(readValue(cursor));
    if (ends(cursor, "]")) return values;
    expect(cursor, ",");
  }
}

function readString(cursor: Cursor): string {
  const start = cursor.at;
  let end = cursor.text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(cursor.text, end)) end = cursor.text.indexOf('"', end + 1);
  if (end === -1) throw new JsonFault("the string that begins here has no end", start);
  cursor.at = end + 1;
  const literal = cursor.text.slice(start, end + 1);
  try {
    return String(JSON.parse(literal));
  } catch {
    throw new JsonFault("the string that begins here holds a bad escape or a raw control character", start);
  }
}

function isEscaped(text: string, quote: number): boolean {
  let slashes = 0;
  while (text[quote - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

function readScalar(cursor: Cursor): unknown {
  const start = cursor.at;
  const number = match(cursor, NUMBER);
  if (number !== undefined && !/^[\w.+-]/.test(cursor.text.slice(cursor.at, cursor.at + 1)))
    return Number(number);
  cursor.at = start;
  const word = match(cursor, WORD);
  if (word !== undefined && WORDS.has(word)) return WORDS.get(word);
  throw new JsonFault(`${JSON.stringify(cursor.text.slice(start, start + 12))} is not JSON`, start);
}

function match(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0];
  if (found !== undefined) cursor.at += found.length;
  return found;
}

function skipSpace(cursor: Cursor): void {
  match(cursor, SPACE);
}

function expect(cursor: Cursor, character: string): void {
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== character) {
    const found = cursor.text[cursor.at];
    const what = found === undefined ? "the end of the text" : JSON.stringify(found);
    throw new JsonFault(`expected ${JSON.stringify(character)} but found ${what}`, cursor.at);
  }
  cursor.at++;
}

function ends(cursor: Cursor, character: string): boolean {
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== character) return false;
  cursor.at++;
  return true;
}
