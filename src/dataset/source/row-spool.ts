import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { deserialize, serialize } from "node:v8";
import { systemCode, UserError } from "../../core/errors.ts";
import { bytesAt } from "./release.ts";

/** Bytes [start, end) of a spool. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Rows kept one after the other in a file, for tables in which no single row can be found: read once in order, then each
 * by its place. The file appears under its name only when it is whole; it is a cache and may be deleted.
 */
export interface SpoolWriter {
  add(row: unknown): Promise<Span>;
  finish(): Promise<void>;
  discard(): Promise<void>;
}

export const openSpool = async (path: string): Promise<SpoolWriter> => {
  await mkdir(dirname(path), { recursive: true });
  const staged = `${path}.${randomBytes(4).toString("hex")}.tmp`;
  const file: FileHandle = await open(staged, "wx");
  let position = 0;
  return {
    add: async (row) => {
      const bytes = serialize(row);
      await file.writeFile(bytes).catch((error: unknown) => {
        throw fullDisk(error, path) ?? error;
      });
      const start = position;
      position += bytes.length;
      return { start, end: position };
    },
    finish: async () => {
      await file.close();
      await rename(staged, path);
    },
    discard: async () => {
      await file.close();
      await rm(staged, { force: true });
    },
  };
};

function fullDisk(error: unknown, path: string): UserError | undefined {
  if (!["ENOSPC", "EDQUOT"].includes(systemCode(error) ?? "")) return undefined;
  return new UserError("DISK_FULL", `No space left while writing ${path}`, {
    hint: "free some space, or write the table again with write_page_index=True: then nothing of it is kept here",
    cause: error,
  });
}

/** The row at a place; undefined when there is no spool, `null` when there is no such row in it. */
export const spooledRow = async (path: string, span: Span): Promise<unknown> => {
  try {
    const bytes = await bytesAt(path, span);
    return bytes.length === span.end - span.start ? deserialize(bytes) : null;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    if (systemCode(error) !== undefined) throw error;
    return null;
  }
};
