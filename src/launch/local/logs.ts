import { open } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import { systemCode } from "../../core/errors.ts";
import type { LogChunk, LogCursor } from "../schema.ts";

const BLOCK = 64 * 1024;
// A progress bar may never end its line: cut it here, so that memory stays bounded and the cursor moves.
const LONGEST_LINE = 1024 * 1024;
const POLL = 500;
const NEWLINE = 0x0a;

/**
 * Complete lines from the cursor on, each exactly once: the cursor of a chunk stands behind its last line, so a reader
 * that keeps it goes on there, whenever it comes back. A line without its end yet waits for it.
 */
export async function* readLog(
  path: string,
  cursor: LogCursor,
  options: { readonly follow: boolean; readonly signal: AbortSignal },
  clock: Clock,
): AsyncGenerator<LogChunk> {
  let { offset } = cursor;
  while (!options.signal.aborted) {
    const chunk = await nextChunk(path, offset);
    if (chunk) {
      ({ offset } = chunk.cursor);
      yield chunk;
    } else if (options.follow) {
      await clock.sleep(POLL, options.signal).catch(() => undefined);
    } else return;
  }
}

async function nextChunk(path: string, offset: number): Promise<LogChunk | undefined> {
  const bytes = await completeLines(path, offset);
  if (bytes === undefined) return undefined;
  const end = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
  return {
    lines: bytes.toString("utf8", 0, end).split("\n"),
    cursor: { offset: offset + bytes.length },
  };
}

// Cut at a newline byte, which never is part of another character in UTF-8.
async function completeLines(path: string, offset: number): Promise<Buffer | undefined> {
  const file = await openIfExists(path);
  if (file === undefined) return undefined;
  try {
    for (let size = BLOCK; ; size *= 2) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(size), 0, size, offset);
      const bytes = buffer.subarray(0, bytesRead);
      const last = bytes.lastIndexOf(NEWLINE);
      if (last !== -1) return bytes.subarray(0, last + 1);
      if (bytesRead < size) return undefined;
      if (size >= LONGEST_LINE) return bytes;
    }
  } finally {
    await file.close();
  }
}

async function openIfExists(path: string): Promise<Awaited<ReturnType<typeof open>> | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
