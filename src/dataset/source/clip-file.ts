import { readFile } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { decodeDataUrl } from "./data-url.ts";
import type { ClipBytes, ClipFault, ClipSource } from "./source.ts";

// What the name of a clip can be wrong with; anything else is the machine's fault.
const NO_CLIP = new Set(["EISDIR", "ENOTDIR", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"]);

/**
 * Bytes of a clip. Paths are looked for below each of the folders, the first of which holds the others. UserError
 * `SOURCE_UNREADABLE` when the machine fails, which must not shrink the data set.
 */
export const readClip = async (
  source: ClipSource,
  bases: readonly string[],
): Promise<ClipBytes | ClipFault> => {
  if (source.kind === "inline") return decodeDataUrl(source.data);
  if (source.kind === "bytes") return { outcome: "bytes", bytes: source.bytes };
  for (const base of bases) {
    const path = resolve(base, source.path);
    if (!isInside(bases[0] ?? base, path))
      return { outcome: "rejected", reason: "path", message: `${source.path} lies outside the corpus` };
    try {
      const bytes = await readEitherForm(base, source.path);
      if (bytes) return { outcome: "bytes", bytes };
    } catch (error) {
      if (NO_CLIP.has(systemCode(error) ?? "")) break;
      throw new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
  return { outcome: "rejected", reason: "missing", message: `there is no file ${source.path}` };
};

/**
 * Bytes of a file below a folder, or null. A name is tried as written, then in both Unicode forms: archives made on a
 * Mac hold decomposed names where the JSON has composed ones.
 */
export const readEitherForm = async (folder: string, path: string): Promise<Buffer | null> => {
  for (const name of new Set([path, path.normalize("NFC"), path.normalize("NFD")])) {
    try {
      return await readFile(resolve(folder, name));
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
  return null;
};

function isInside(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
