import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
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
      const bytes = await readEitherForm(base, source.path, { most: LARGEST_CLIP, allocate });
      if (bytes) return { outcome: "bytes", bytes };
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
): Promise<Uint8Array | null> => {
  for (const name of new Set([path, path.normalize("NFC"), path.normalize("NFD")])) {
    try {
      // Threads read clips one after the other and wait for each anyway: handing each to the pool costs more than it brings.
      return readRegularFile(resolve(folder, name), most, allocate);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
  return null;
};

function readRegularFile(path: string, most: number, allocate: Allocate | undefined): Uint8Array {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new OddFile(path, "not_a_file", "is a folder, pipe or device and not a file");
    if (found.size > most) throw new OddFile(path, "too_large", `has ${found.size} bytes, more than ${most}`);
    if (!allocate) return readFileSync(file);
    const bytes = allocate(found.size);
    let done = 0;
    for (let read = -1; read !== 0 && done < bytes.length; done += read)
      read = readSync(file, bytes, done, bytes.length - done, null);
    return bytes.subarray(0, done);
  } finally {
    closeSync(file);
  }
}

function isInside(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
