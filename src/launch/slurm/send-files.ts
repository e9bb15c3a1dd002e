import { posix } from "node:path";
import { RemoteError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import type { PlannedFile } from "../schema.ts";
import { must } from "../transport/index.ts";
import type { Transport } from "../transport/transport.ts";
import { execute } from "./command.ts";

const DIFFERS = 45;

// Texts come one after the other on standard input. All are there, synced and verified before the first one gets its name.
const WRITE = `set -e
umask 022
unwritten=$(($# / 4))
list=
while [ "$unwritten" -gt 0 ]; do
  path=$1
  folder=\${path%/*}
  [ -d "$folder" ] || mkdir -p -- "$folder"
  (umask 077 && head -c "$3" >"$path.$$.tmp")
  [ "$2" = 600 ] || chmod -- "$2" "$path.$$.tmp"
  list="$list$4  $path.$$.tmp
"
  shift 4
  set -- "$@" "$path.$$.tmp"
  unwritten=$((unwritten - 1))
done
printf %s "$list" | sha256sum -c - >/dev/null 2>&1 || exit ${DIFFERS}
sync -- "$@" 2>/dev/null || sync
for part in "$@"; do mv -f -- "$part" "\${part%.$$.tmp}"; done
sync -- "$folder" 2>/dev/null || sync`;

/**
 * Small files in one call, in their order: each beside its target, synced and verified by its digest there, then renamed. Missing
 * folders are made. RemoteErrors `FAR_WRITE_FAILED`, `TRANSPORT_…`.
 */
export const sendFiles = async (transport: Transport, files: readonly PlannedFile[]): Promise<void> => {
  const words = files.flatMap(({ path, mode, text }) => [
    posix.normalize(path),
    mode.toString(8),
    String(Buffer.byteLength(text)),
    sha256(text),
  ]);
  const what = `write ${files.length} files`;
  const outcome = await execute(transport, ["sh", "-c", WRITE, "write", ...words], {
    stdin: files.map(({ text }) => text).join(""),
    deadline: 120_000,
  });
  if (outcome.kind === "exited" && outcome.code === DIFFERS) {
    throw new RemoteError("FAR_WRITE_FAILED", `Could not ${what}: what arrived there is not what was sent`, {
      hint: "look at the free space and the quota of that disk",
    });
  }
  must(outcome, what);
};
