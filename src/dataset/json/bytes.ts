import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import { TextDecoder } from "node:util";
import { UserError } from "../../core/errors.ts";
import { JsonFault, parseStrictJson } from "./parse.ts";

/** A fault at a byte of a file; turned into a `file:line:column` error by `jsonError`. */
export class ByteFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.name = "ByteFault";
    this.offset = offset;
  }
}

/**
 * Strict JSON out of UTF-8 bytes that begin at byte `start` of their file; a byte order mark at the start of the file is
 * skipped. Throws ByteFault.
 */
export const parseJsonBytes = (bytes: Uint8Array, start: number): unknown => {
  const text = utf8Text(bytes, start);
  const mark = start === 0 && text.startsWith("\ufeff") ? 1 : 0;
  try {
    return parseStrictJson(text.slice(mark));
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new ByteFault(error.message, start + Buffer.byteLength(text.slice(0, mark + error.offset)));
  }
};

/** Text of UTF-8 bytes that begin at byte `start` of their file. Throws ByteFault at the first byte that is none. */
export const utf8Text = (bytes: Uint8Array, start: number): string => {
  if (!isUtf8(bytes)) {
    if (start === 0) refuseUtf16(bytes);
    throw new ByteFault("this byte is not UTF-8", start + firstBadByte(bytes));
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
};

/** UserError `SOURCE_JSON_INVALID` that says `file:line:column` (1-based; columns count bytes). */
export const jsonError = async (path: string, fault: ByteFault): Promise<UserError> =>
  new UserError("SOURCE_JSON_INVALID", `${await bytePlace(path, fault.offset)}: ${fault.message}`, {
    hint: "repair the file: nothing is guessed and nothing of it is left out",
    cause: fault,
  });

/** `file:line:column` of a byte of a file, 1-based; columns count bytes. */
export const bytePlace = async (path: string, offset: number): Promise<string> => {
  const file = await open(path, "r");
  try {
    let line = 1;
    let lineStart = 0;
    const buffer = Buffer.alloc(1 << 16);
    for (let position = 0; position < offset;) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, offset - position), position);
      if (bytesRead === 0) break;
      for (let at = buffer.indexOf(10); at !== -1 && at < bytesRead; at = buffer.indexOf(10, at + 1)) {
        line++;
        lineStart = position + at + 1;
      }
      position += bytesRead;
    }
    return `${path}:${line}:${offset - lineStart + 1}`;
  } finally {
    await file.close();
  }
};

// Every longer prefix than the longest valid one is invalid, so a bisection over prefixes finds it.
function firstBadByte(bytes: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isPrefixOfUtf8(decoder, bytes.subarray(0, middle))) good = middle;
    else bad = middle;
  }
  // A character that was begun there is the one that is broken.
  while (!isUtf8(bytes.subarray(0, good))) good--;
  return good;
}

function isPrefixOfUtf8(decoder: TextDecoder, bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  } finally {
    flush(decoder);
  }
}

function flush(decoder: TextDecoder): void {
  try {
    decoder.decode();
  } catch {
    // An unfinished character at the end of the prefix: the decoder is ready for the next one all the same.
  }
}

/** ByteFault for the beginning of a file in UTF-16, as some editors and spreadsheets save text: every line of it would be no JSON. */
export const refuseUtf16 = (beginning: Uint8Array): void => {
  const [first, second] = beginning;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new ByteFault("the file is UTF-16: save it as UTF-8", 0);
};
