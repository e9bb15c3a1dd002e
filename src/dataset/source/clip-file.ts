import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { shortened } from "../text.ts";
import { decodeDataUrl } from "./data-url.ts";
import type { Allocate, ClipBytes, ClipFault, ClipSource } from "./source.ts";

// What the name of a clip can be wrong with; anything else is the machine's fault. ENXIO: a socket.
const NO_CLIP = new Set(["ENOTDIR", "ENAMETOOLONG", "ENXIO", "ERR_INVALID_ARG_VALUE"]);
// Hours of speech: whatever that is, it is no answer, and would not fit into memory some times over.
const LARGEST_CLIP = 128_000_000;

/**
 * Bytes of a clip. Paths are looked for below each of the folders, the first of which holds the others. UserError
 * `SOURCE_UNREADABLE` when the machine fails, which must not shrink the data set.
 */
export const readClip = async (
  source: ClipSource,
  bases: readonly string[],
  allocate?: Allocate,
): Promise<ClipBytes | ClipFault> => {
  if (source.kind === "inline") return decodeDataUrl(source.data);
  if (source.kind === "bytes") return { outcome: "bytes", bytes: source.bytes };
  for (const base of bases) {
    const path = resolve(base, source.path);
    if (!isInside(bases[0] ?? base, path))
      return rejected("path", `${shortened(source.path)} lies outside the corpus`);
    try {
      const found = readForms(base, source.path, { most: LARGEST_CLIP, allocate });
      if (found) return { outcome: "bytes", ...found };
    } catch (error) {
      if (error instanceof OddFile) return rejected(error.reason, `${shortened(source.path)} ${error.what}`);
      if (NO_CLIP.has(systemCode(error) ?? "")) break;
      throw new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
  return rejected("missing", `there is no file ${shortened(source.path)}`);
};

const rejected = (reason: string, message: string): ClipFault => ({ outcome: "rejected", reason, message });

/** A name under which there is something else than a file of a clip. */
class OddFile extends UserError {
  readonly reason: string;
  readonly what: string;

  constructor(path: string, reason: string, what: string) {
    super("SOURCE_UNREADABLE", `${path} ${what}`);
    this.reason = reason;
    this.what = what;
  }
}

/**
 * Bytes of a file below a folder, or null. A name is tried as written, then in both Unicode forms: archives made on a
 * Mac hold decomposed names where the JSON has composed ones. UserError `SOURCE_UNREADABLE` for what is no file, such as a
 * pipe that nobody writes to, or has more than `most` bytes.
 */
export const readEitherForm = async (
  folder: string,
  path: string,
  { most = Infinity, allocate }: { readonly most?: number; readonly allocate?: Allocate | undefined } = {},
): Promise<Uint8Array | null> => readForms(folder, path, { most, allocate })?.bytes ?? null;

interface Reading {
  readonly most: number;
  readonly allocate: Allocate | undefined;
}

function readForms(folder: string, path: string, reading: Reading): FileBytes | null {
  for (const name of forms(path)) {
    try {
      // Threads read clips one after the other and wait for each anyway: handing each to the pool costs more than it brings.
      return readRegularFile(resolve(folder, name), reading);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
  return null;
}

function* forms(path: string): Generator<string> {
  yield path;
  // Few names get here: most are there as they are written.
  for (const form of new Set([path.normalize("NFC"), path.normalize("NFD")])) if (form !== path) yield form;
}

type FileBytes = Pick<ClipBytes, "bytes" | "stamp">;

function readRegularFile(path: string, { most, allocate }: Reading): FileBytes {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new OddFile(path, "not_a_file", "is a folder, pipe or device and not a file");
    if (found.size > most) throw new OddFile(path, "too_large", `has ${found.size} bytes, more than ${most}`);
    const bytes = allocate ? readInto(file, allocate(found.size)) : readFileSync(file);
    // Only if nobody wrote while it was read does the stamp belong to these bytes.
    const stamp = isSame(found, fstatSync(file)) ? stampOf(found) : undefined;
    return { bytes, ...(stamp === undefined ? {} : { stamp }) };
  } finally {
    closeSync(file);
  }
}

const isSame = (a: Stats, b: Stats): boolean =>
  a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;

function readInto(file: number, bytes: Uint8Array): Uint8Array {
  let done = 0;
  for (let read = -1; read !== 0 && done < bytes.length; done += read)
    read = readSync(file, bytes, done, bytes.length - done, null);
  return bytes.subarray(0, done);
}

// Some systems keep whole seconds: a file that changed just now, or later by the clock of a file server, may change again and
// still show the same time.
const SETTLED_MS = 2_500;

// The time of a change, unlike that of the last writing, cannot be set by a program where the file system keeps one.
// Milliseconds have parts here, down to a quarter of a microsecond; whole numbers are written in a tenth of the time.
function stampOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string | undefined {
  const age = Date.now() - ctimeMs;
  return age < SETTLED_MS
    ? undefined
    : [dev, ino, size, Math.round(mtimeMs * 1000), Math.round(ctimeMs * 1000)].join(" ");
}

function isInside(folder: string, path: string): boolean {
  if (path.startsWith(`${folder}${sep}`)) return true;
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
