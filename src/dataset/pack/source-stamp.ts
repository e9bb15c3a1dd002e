import { readdirSync, realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import { compare } from "../text.ts";

/** What a source looks like from outside. */
export interface SourceStamp {
  /** Digest over path, size and time of writing of all files: the same for copies of a source on several machines. */
  readonly files: string;
  /** Also over the time of the last change, which no tool sets back: the same only where nobody touched anything. */
  readonly untouched: string;
}

/**
 * Stamps of all files below a folder (or of the one file): another one means that the source may have changed. Contents
 * are not read: hundreds of gigabytes are, later, by those who pack them. Hidden files and folders do not count.
 * UserError `SOURCE_UNREADABLE`.
 */
export const sourceStamp = async (path: string, signal?: AbortSignal): Promise<SourceStamp> => {
  try {
    const looks: Look[] = [];
    for (const { file, name } of filesBelow(path, "", new Set())) {
      if (looks.length % BREATH === 0) await nextTurn();
      signal?.throwIfAborted();
      const found = look(() => statSync(file, { bigint: true }));
      if (!found) continue;
      looks.push({ name, written: `${found.size} ${found.mtimeNs}`, changed: String(found.ctimeNs) });
    }
    looks.sort((a, b) => compare(a.name, b.name));
    const files = sha256(looks.map(({ name, written }) => `${name} ${written}`).join("\n"));
    return { files, untouched: sha256([files, ...looks.map(({ changed }) => changed)].join("\n")) };
  } catch (error) {
    if (systemCode(error) === undefined || signal?.aborted) throw error;
    throw new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${messageOf(error)}`, {
      hint: "check the permissions of that path, and what links in the corpus lead to",
      cause: error,
    });
  }
};

/** UserError `SOURCE_CHANGED` where a file has another size or time of writing than before. */
export const requireSameSource = async (
  path: string,
  before: SourceStamp,
  signal: AbortSignal | undefined,
): Promise<void> => {
  if ((await sourceStamp(path, signal)).files === before.files) return;
  throw new UserError("SOURCE_CHANGED", `The corpus in ${path} changed while it was being packed`, {
    hint: "run the same command again when nothing writes to it any more",
  });
};

// Files are looked at without waiting, which takes a tenth of the time; now and then others get a turn.
const BREATH = 500;

// A link that leads nowhere, or to itself, holds nothing; a clip of that name is told where it is read.
function look<Found>(at: () => Found): Found | undefined {
  try {
    return at();
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENOTDIR"].includes(systemCode(error) ?? "")) return undefined;
    throw error;
  }
}

interface Look {
  readonly name: string;
  readonly written: string;
  readonly changed: string;
}

interface Below {
  readonly file: string;
  /** Relative to where the walk began, with forward slashes. */
  readonly name: string;
}

// Links are followed, since large corpora are linked in from other disks; a folder is walked once.
function* filesBelow(path: string, name: string, visited: Set<string>): Generator<Below> {
  if (!statSync(path).isDirectory()) {
    yield { file: path, name };
    return;
  }
  const folder = realpathSync(path);
  if (visited.has(folder)) return;
  visited.add(folder);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const inner = `${path}${sep}${entry.name}`;
    const innerName = name === "" ? entry.name : `${name}/${entry.name}`;
    const isFolder = entry.isSymbolicLink()
      ? (look(() => statSync(inner))?.isDirectory() ?? false)
      : entry.isDirectory();
    if (isFolder) yield* filesBelow(inner, innerName, visited);
    else yield { file: inner, name: innerName };
  }
}
