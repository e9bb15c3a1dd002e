import { readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import { compare } from "../text.ts";

/**
 * Digest over path, size and time of all files below a folder (or of the one file): another digest means that the source
 * may have changed. Contents are not read: hundreds of gigabytes are, later, by those who pack them. Hidden files and
 * folders do not count. UserError `SOURCE_UNREADABLE`.
 */
export const sourceStamp = async (path: string, signal?: AbortSignal): Promise<string> => {
  try {
    const lines: string[] = [];
    let looked = 0;
    for (const file of filesBelow(path, new Set())) {
      if (looked++ % BREATH === 0) await nextTurn();
      signal?.throwIfAborted();
      const found = statSync(file, { bigint: true, throwIfNoEntry: false });
      const name = relative(path, file).split(sep).join("/");
      if (found) lines.push(`${name} ${found.size} ${found.mtimeNs}`);
    }
    return sha256(lines.toSorted(compare).join("\n"));
  } catch (error) {
    if (systemCode(error) === undefined || signal?.aborted) throw error;
    throw new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
};

/** UserError `SOURCE_CHANGED` where the stamp is not what it was before. */
export const requireSameSource = async (
  path: string,
  before: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  if ((await sourceStamp(path, signal)) === before) return;
  throw new UserError("SOURCE_CHANGED", `The corpus in ${path} changed while it was being packed`, {
    hint: "run the same command again when nothing writes to it any more",
  });
};

// Files are looked at without waiting, which takes a tenth of the time; now and then others get a turn.
const BREATH = 500;

// Links are followed, since large corpora are linked in from other disks; a folder is walked once.
function* filesBelow(path: string, visited: Set<string>): Generator<string> {
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  const folder = realpathSync(path);
  if (visited.has(folder)) return;
  visited.add(folder);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const inner = join(path, entry.name);
    const isFolder = entry.isSymbolicLink()
      ? (statSync(inner, { throwIfNoEntry: false })?.isDirectory() ?? false)
      : entry.isDirectory();
    if (isFolder) yield* filesBelow(inner, visited);
    else yield inner;
  }
}
