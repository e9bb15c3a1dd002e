import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { Readable } from "node:stream";
import { sha256 } from "../../core/hash.ts";
import type { JobInput } from "../schema.ts";
import { deadlineFor, DIFFERS, farScript } from "./far-script.ts";
import { mustWrite } from "./full-disk.ts";
import { changedSource, checkSource, type UploadWays } from "./upload-file.ts";
import type { MissingInput } from "./upload-question.ts";

// From here on a file is worth a channel of its own, and going on where it stopped.
const SMALL = 1024 * 1024;
const LARGEST_PACK = 16 * 1024 * 1024;
// Far below what one argument list may hold.
const MOST_FILES = 200;

/** What goes file by file, and what goes together. */
export const inPacks = (
  missing: readonly MissingInput[],
): { readonly packs: readonly (readonly JobInput[])[]; readonly single: readonly MissingInput[] } => {
  const isSmall = ({ input, there }: MissingInput): boolean => there === 0 && input.bytes < SMALL;
  const packs: JobInput[][] = [];
  let bytes = 0;
  // Folder by folder: each is put on the disk once.
  const small = missing.filter(isSmall).toSorted((a, b) => compare(folderOf(a), folderOf(b)));
  for (const { input } of small) {
    const last = packs.at(-1);
    if (last === undefined || bytes + input.bytes > LARGEST_PACK || last.length === MOST_FILES) {
      packs.push([input]);
      bytes = 0;
    } else last.push(input);
    bytes += input.bytes;
  }
  return { packs, single: missing.filter((one) => !isSmall(one)) };
};

const folderOf = ({ input }: MissingInput): string => posix.dirname(input.path);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Sends small files one behind the other in one stream: a command for each of them would take longer than its bytes. Each is
 * verified by its digest there; none gets its name before all have arrived and lie on the disk. False when something arrived
 * otherwise than it was sent: nothing was named then. UserErrors `INPUT_CHANGED`, `INPUT_GONE`; RemoteErrors.
 */
export const sendPack = async (ways: UploadWays, pack: readonly JobInput[]): Promise<boolean> => {
  const { transport, umask, group, signal } = ways;
  const contents: Buffer[] = [];
  for (const input of pack) {
    const source = input.source ?? "";
    await checkSource(source, input);
    const content = await readFile(source);
    if (sha256(content) !== input.sha256) throw changedSource(source, "its digest is another one");
    contents.push(content);
  }
  const bytes = contents.reduce((sum, content) => sum + content.length, 0);
  const words = pack.flatMap((input) => [
    input.path,
    posix.dirname(input.path),
    String(input.bytes),
    input.sha256,
  ]);
  const outcome = await farScript(transport, RECEIVE_PACK, [umask, group, ...words], {
    stdin: Readable.from(
      contents.filter(({ length }) => length > 0),
      { objectMode: false },
    ),
    deadline: deadlineFor(bytes),
    signal,
  });
  if (outcome.kind === "exited" && outcome.code === DIFFERS) return false;
  const folder = posix.dirname(pack[0]?.path ?? "");
  await mustWrite(transport, outcome, { what: `send ${pack.length} files to ${folder}`, folder, bytes });
  ways.onBytes(bytes);
  return true;
};

// Four words for each file. The temporary name holds the shell's number: two senders of one file never share it. One program
// hashes all of them, and one more for each file is what the rest costs.
const RECEIVE_PACK = `set -e
umask "$1"
group=$2
shift 2
receive() {
  while [ $# -gt 0 ]; do
    if ! [ -d "$2" ]; then
      mkdir -p -- "$2" || return 1
      [ -z "$group" ] || { chgrp -- "$group" "$2" && chmod g+s -- "$2"; } || return 1
    fi
    head -c "$3" > "$1.$$.new" || return 1
    shift 4
  done
}
wanted() { while [ $# -gt 0 ]; do echo "$4"; shift 4; done; }
all() {
  command=$1
  shift
  left=$(($# / 4))
  while [ "$left" -gt 0 ]; do
    one=$1.$$.new
    shift 4
    set -- "$@" "$one"
    left=$((left - 1))
  done
  case $command in
    hash) sha256sum -- "$@" | sed 's/^[\\\\]//; s/ .*//' ;;
    group) chgrp -- "$group" "$@" ;;
    flush) sync -- "$@" 2>/dev/null || sync ;;
    clear) rm -f -- "$@" ;;
  esac
}
settle() {
  folder=
  while [ $# -gt 0 ]; do
    [ -e "$1" ] || mv -f -- "$1.$$.new" "$1" || return 1
    [ "$2" = "$folder" ] || { folder=$2; sync -- "$folder" 2>/dev/null || sync; }
    shift 4
  done
}
trap 'all clear "$@"' EXIT
receive "$@" || exit 1
[ "$(all hash "$@")" = "$(wanted "$@")" ] || exit ${DIFFERS}
[ -z "$group" ] || all group "$@" || exit 1
all flush "$@"
settle "$@" || exit 1`;
