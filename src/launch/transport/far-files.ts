import { posix } from "node:path";
import { RemoteError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import { deadlineFor, DIFFERS, farScript, HASH_WORD, NOT_THERE } from "./far-script.ts";
import { mustWrite } from "./full-disk.ts";
import { failureOf, must } from "./must.ts";
import type { Transport } from "./transport.ts";

const LARGEST_READ = 256 * 1024 * 1024;
const DIGEST_DEADLINE = 24 * 3600 * 1000;

/** Bytes [start, end) of a file. RemoteErrors `ARTIFACT_MISSING`, `TRANSPORT_…`. */
export const readFar = async (
  transport: Transport,
  path: string,
  start = 0,
  end?: number,
): Promise<Buffer> => {
  const length = end === undefined ? "" : String(Math.max(0, end - start));
  const limit = end === undefined ? LARGEST_READ : Math.max(0, end - start) + 1;
  const outcome = await farScript(transport, READ, [path, String(start + 1), length], {
    limit,
    deadline: deadlineFor(end === undefined ? 0 : limit),
  });
  if (outcome.kind === "exited" && outcome.code === NOT_THERE) throw missingFar(path);
  return must(outcome, `read ${path}`);
};

const READ = `[ -f "$1" ] || exit ${NOT_THERE}
exec < "$1"
if [ -n "$3" ]; then tail -c "+$2" | head -c "$3"; else exec tail -c "+$2"; fi`;

export interface FarFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/**
 * Writes a small file: beside the target, fsynced, verified by its digest there, renamed; missing parent folders are made.
 * A reader sees the old or the new content, never half. RemoteErrors `FAR_WRITE_FAILED`, `FAR_DISK_FULL`,
 * `TRANSPORT_…`.
 */
export const writeFar = async (transport: Transport, file: FarFile): Promise<void> => {
  const what = `write ${file.path}`;
  const outcome = await farScript(
    transport,
    WRITE,
    [file.path, posix.dirname(file.path), file.mode.toString(8), sha256(file.text)],
    { stdin: file.text },
  );
  if (outcome.kind === "exited" && outcome.code === DIFFERS) {
    throw new RemoteError("FAR_WRITE_FAILED", `Could not ${what}: what arrived there is not what was sent`, {
      hint: "look at the free space and the quota of that disk",
    });
  }
  await mustWrite(transport, outcome, {
    what,
    folder: posix.dirname(file.path),
    bytes: Buffer.byteLength(file.text),
  });
};

// The temporary name holds the shell's number and the content's digest: two writers never share it.
const WRITE = `set -e
mkdir -p -- "$2"
part="$1.$$.$4.tmp"
trap 'rm -f -- "$part"' EXIT
(umask 077; cat > "$part")
sum=$(sha256sum < "$part")
[ "\${sum%% *}" = "$4" ] || exit ${DIFFERS}
chmod -- "$3" "$part"
sync -- "$part" 2>/dev/null || sync
mv -f -- "$part" "$1"
sync -- "$2" 2>/dev/null || sync`;

/** All files below a folder, relative to it, in order; empty when there is no such folder. RemoteError `TRANSPORT_…`. */
export const listFar = async (
  transport: Transport,
  folder: string,
): Promise<{ readonly path: string; readonly bytes: number }[]> => {
  const outcome = await farScript(transport, LIST, [folder], { limit: LARGEST_READ });
  const what = `list ${folder}`;
  if (outcome.kind !== "exited") throw failureOf(outcome, what);
  if (outcome.code === NOT_THERE) return [];
  // A file that went away while we looked is none; anything else that could not be read is a failure.
  const complaints = outcome.stderr.split("\n").filter((line) => line !== "" && !line.endsWith(GONE));
  if (outcome.code !== 0 && (complaints.length > 0 || outcome.stderr === "")) throw failureOf(outcome, what);
  return outcome.stdout
    .toString("utf8")
    .split("\0")
    .filter((entry) => entry !== "")
    .map((entry) => {
      const space = entry.indexOf(" ");
      return { bytes: Number(entry.slice(0, space)), path: entry.slice(space + 3) };
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
};

const GONE = "No such file or directory";
const LIST = `cd -- "$1" 2>/dev/null || { [ ! -d "$1" ] && exit ${NOT_THERE}; cd -- "$1"; exit 1; }
exec find . -type f -exec stat --printf '%s %n\\0' -- {} +`;

/** SHA-256 of a file, computed where it lies. RemoteErrors `ARTIFACT_MISSING`, `TRANSPORT_…`. */
export const digestFar = async (transport: Transport, path: string): Promise<string> => {
  const outcome = await farScript(transport, DIGEST, [path], { deadline: DIGEST_DEADLINE });
  if (outcome.kind === "exited" && outcome.code === NOT_THERE) throw missingFar(path);
  const digest = /^[0-9a-f]{64}/.exec(must(outcome, `read ${path}`).toString())?.[0];
  if (digest === undefined)
    throw new RemoteError("FAR_COMMAND_FAILED", `sha256sum said nothing about ${path}`);
  return digest;
};

const DIGEST = `[ -f "$1" ] || exit ${NOT_THERE}
${HASH_WORD}
hash < "$1"`;

/** Size of a file, or null when there is none. RemoteError `TRANSPORT_…`. */
export const sizeFar = async (transport: Transport, path: string): Promise<number | null> => {
  const outcome = await farScript(transport, SIZE, [path]);
  if (outcome.kind === "exited" && outcome.code === NOT_THERE) return null;
  return Number(must(outcome, `look at ${path}`).toString());
};

const SIZE = `[ -f "$1" ] || exit ${NOT_THERE}
exec stat -L -c %s -- "$1"`;

/** There is no such file. */
export const missingFar = (path: string): RemoteError =>
  new RemoteError("ARTIFACT_MISSING", `There is no ${path} there`);
