import { createReadStream } from "node:fs";
import { ByteFault, parseJsonBytes, refuseUtf16 } from "./bytes.ts";

/** One element of a top-level JSON array: bytes [start, end) of its file. */
export interface ArrayElement {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

interface Scan {
  /** What may come next outside an element. */
  state: "file-start" | "element-or-end" | "element" | "inside" | "after-end";
  /** Bytes of a byte order mark seen so far. */
  mark: number;
  depth: number;
  inString: boolean;
  escaped: boolean;
  index: number;
  start: number;
  /** Bytes of the current element from earlier blocks, and how many they are. */
  parts: Uint8Array[];
  held: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const ARRAY_START = 0x5b;
const ARRAY_END = 0x5d;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The longest dialogue, in bytes of JSON: no text of the engine may be longer than about twice this. */
const LONGEST_ELEMENT = 1 << 28;

/**
 * The elements of a file that holds one JSON array, one at a time: a file of many gigabytes (audio inline) takes the
 * memory of one element. A byte order mark is skipped. Throws ByteFault where the array itself is broken, or an element
 * is longer than `longest` bytes; the elements are not parsed here.
 */
export async function* arrayElements(
  path: string,
  signal?: AbortSignal,
  longest = LONGEST_ELEMENT,
): AsyncGenerator<ArrayElement> {
  const scan: Scan = {
    state: "file-start",
    mark: 0,
    depth: 0,
    inString: false,
    escaped: false,
    index: 0,
    start: 0,
    parts: [],
    held: 0,
  };
  let position = 0;
  const stream = createReadStream(path, { highWaterMark: 1 << 18, ...(signal ? { signal } : {}) });
  for await (const block of stream) {
    if (!(block instanceof Uint8Array)) continue;
    if (position === 0) refuseUtf16(block);
    yield* scanBlock(scan, block, position);
    position += block.length;
    if (scan.held > longest) throw tooLong(scan, longest);
  }
  if (scan.state !== "after-end") throw openEnd(scan, position);
}

// Nothing is that long: a quote or bracket is missing, and what follows was swallowed.
function tooLong(scan: Scan, longest: number): ByteFault {
  return new ByteFault(`the dialogue that begins here does not end within ${longest} bytes`, scan.start);
}

// A bracket or quote too many hides the end of the array: reading what was swallowed shows where it is.
function openEnd(scan: Scan, position: number): ByteFault {
  const cutOff = new ByteFault("the file ends inside its array: it is cut off", position);
  try {
    if (scan.state === "inside") parseJsonBytes(Buffer.concat(scan.parts), scan.start);
    return cutOff;
  } catch (error) {
    return error instanceof ByteFault && error.offset < position ? error : cutOff;
  }
}

function* scanBlock(scan: Scan, block: Uint8Array, position: number): Generator<ArrayElement> {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (scan.inString && !scan.escaped) at = stringStop(bytes, at);
    const byte = bytes[at];
    if (byte === undefined) break;
    if (scan.state !== "inside") {
      if (SPACES.has(byte) || isMark(scan, byte)) continue;
      scan.state = outside(scan.state, byte, position + at);
      if (scan.state !== "inside") continue;
      scan.start = position + at;
      scan.depth = 0;
      from = at;
    }
    if (!elementEnds(scan, byte)) continue;
    yield finish(scan, bytes.subarray(from, at), position + at);
    scan.state = byte === COMMA ? "element" : "after-end";
  }
  if (scan.state !== "inside") return;
  const rest = block.slice(from);
  scan.parts.push(rest);
  scan.held += rest.length;
}

// The next byte of a string that means something; inline audio is megabytes of the others.
function stringStop(bytes: Buffer, at: number): number {
  const quote = bytes.indexOf(QUOTE, at);
  const end = quote === -1 ? bytes.length : quote;
  const backslash = bytes.subarray(at, end).indexOf(BACKSLASH);
  return backslash === -1 ? end : at + backslash;
}

function isMark(scan: Scan, byte: number): boolean {
  if (scan.state !== "file-start" || byte !== BYTE_ORDER_MARK[scan.mark]) return false;
  scan.mark++;
  return true;
}

// What follows a byte that is not space, between elements.
function outside(state: Scan["state"], byte: number, offset: number): Scan["state"] {
  if (state === "file-start") {
    if (byte === ARRAY_START) return "element-or-end";
    throw new ByteFault("expected a JSON array of dialogues", offset);
  }
  if (state === "after-end") throw new ByteFault("text after the end of the array", offset);
  if (byte === ARRAY_END && state === "element-or-end") return "after-end";
  if (byte === ARRAY_END || byte === COMMA) throw new ByteFault("a comma too many in the array", offset);
  return "inside";
}

// True when this byte, which is not part of it, ends the element.
function elementEnds(scan: Scan, byte: number): boolean {
  if (scan.inString) {
    if (scan.escaped) scan.escaped = false;
    else if (byte === BACKSLASH) scan.escaped = true;
    else if (byte === QUOTE) scan.inString = false;
    return false;
  }
  if (scan.depth === 0 && (byte === COMMA || byte === ARRAY_END)) return true;
  if (byte === QUOTE) scan.inString = true;
  else if (OPENING.has(byte)) scan.depth++;
  else if (CLOSING.has(byte)) scan.depth--;
  return false;
}

function finish(scan: Scan, tail: Uint8Array, end: number): ArrayElement {
  const bytes = scan.parts.length === 0 ? tail : Buffer.concat([...scan.parts, tail]);
  scan.parts = [];
  scan.held = 0;
  return { index: scan.index++, start: scan.start, end, bytes };
}
