import { createReadStream } from "node:fs";
import { ByteFault, refuseUtf16 } from "./bytes.ts";

/** One line of a file that is not blank: bytes [start, end), without its line end. */
export interface FileLine {
  /** Number of the line, 0-based, blank ones counted. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

const NEWLINE = 0x0a;
const BLANK = /^[ \t\r]*$/;
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LONGEST_LINE = 1 << 28;
const WHOLE = { from: 0, to: Infinity };
const FILE_START: LineMark = { index: 0, start: 0 };

/** Where a line begins, and its number. */
export interface LineMark {
  readonly index: number;
  readonly start: number;
}

export interface LineOptions {
  /** Only lines that begin at byte `from` or later, and before byte `to`. */
  readonly range?: { readonly from: number; readonly to: number };
  /** A line whose number is known: those before it are not counted anew, where it stands before `from`. */
  readonly mark?: LineMark;
  /** Told the first line of the range, and the first one after it. */
  readonly onMark?: (mark: LineMark) => unknown;
  readonly signal?: AbortSignal | undefined;
  readonly longest?: number;
}

/**
 * The lines of a file, one at a time; a byte order mark is skipped. ByteFault where a line is longer than `longest`
 * bytes.
 */
export async function* fileLines(path: string, options: LineOptions = {}): AsyncGenerator<FileLine> {
  const { range = WHOLE, mark = FILE_START, onMark } = options;
  const first = await firstLine(path, range.from, mark.start <= range.from ? mark : FILE_START);
  onMark?.(first);
  const next = yield* linesFrom(path, first, options);
  onMark?.(next);
}

async function* linesFrom(
  path: string,
  first: LineMark,
  { range = WHOLE, longest = LONGEST_LINE, signal }: LineOptions,
): AsyncGenerator<FileLine, LineMark> {
  let parts: Uint8Array[] = [];
  let held = 0;
  let { index, start } = first;
  const finish = (tail: Uint8Array): FileLine | undefined => {
    const whole = Buffer.concat([...parts, tail]);
    const mark = start === 0 && whole.subarray(0, 3).equals(MARK) ? MARK.length : 0;
    const line = { index, start: start + mark, end: start + whole.length, bytes: whole.subarray(mark) };
    parts = [];
    held = 0;
    index++;
    start += whole.length + 1;
    return isBlank(line.bytes) ? undefined : line;
  };
  for await (const block of blocks(path, start, signal)) {
    if (start === 0 && held === 0) refuseUtf16(block);
    let from = 0;
    for (let at = block.indexOf(NEWLINE); at !== -1; at = block.indexOf(NEWLINE, from)) {
      if (start >= range.to) return { index, start };
      const line = finish(block.subarray(from, at));
      from = at + 1;
      if (line) yield line;
    }
    parts.push(Buffer.from(block.subarray(from)));
    held += block.length - from;
    if (held > longest)
      throw new ByteFault(`the line that begins here is longer than ${longest} bytes`, start);
  }
  const last = start < range.to && finish(Buffer.alloc(0));
  if (last) yield last;
  return { index, start };
}

// The first line that begins at this byte or after it, and its number.
async function firstLine(path: string, from: number, known: LineMark): Promise<LineMark> {
  if (known.start === from) return known;
  let { index, start: position } = known;
  for await (const block of blocks(path, position, undefined)) {
    for (let at = block.indexOf(NEWLINE); at !== -1; at = block.indexOf(NEWLINE, at + 1)) {
      index++;
      if (position + at + 1 >= from) return { index, start: position + at + 1 };
    }
    position += block.length;
  }
  return { index, start: position };
}

async function* blocks(path: string, start: number, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const stream = createReadStream(path, { start, highWaterMark: 1 << 18, ...(signal ? { signal } : {}) });
  for await (const block of stream) if (block instanceof Buffer) yield block;
}

// A line of a dialogue begins with a brace: only a short one can be blank.
function isBlank(bytes: Uint8Array): boolean {
  return bytes.length < 1_024 && BLANK.test(Buffer.from(bytes).toString("latin1"));
}
