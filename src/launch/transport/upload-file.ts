import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { posix } from "node:path";
import { Transform } from "node:stream";
import { RemoteError, systemText, UserError } from "../../core/errors.ts";
import { sha256File } from "../../core/hash.ts";
import type { JobInput } from "../schema.ts";
import { deadlineFor, DIFFERS, farScript, HASH_WORD } from "./far-script.ts";
import { mustWrite } from "./full-disk.ts";
import type { ExecOutcome, Transport } from "./transport.ts";

export interface UploadWays {
  readonly transport: Transport;
  readonly umask: string;
  /** Empty: the far user's own. */
  readonly group: string;
  readonly signal: AbortSignal;
  readonly onBytes: (count: number) => void;
}

const READ_AT_ONCE = 1024 * 1024;

/** Sends what is missing of one file, verifies and names it. A damaged part is sent anew, once. */
export const sendFile = async (ways: UploadWays, input: JobInput, there: number): Promise<void> => {
  const source = input.source ?? "";
  await checkSource(source, input);
  // A part that is longer than the file was never one of it, and is removed there.
  const first = await sendFrom(ways, input, there > input.bytes ? 0 : there);
  const writing = { what: `send ${input.path}`, folder: posix.dirname(input.path), bytes: input.bytes };
  if (!isDamaged(first)) return void (await mustWrite(ways.transport, first, writing));
  if ((await sha256File(source)) !== input.sha256) throw changedSource(source, "its digest is another one");
  const second = await sendFrom(ways, input, 0);
  if (!isDamaged(second)) return void (await mustWrite(ways.transport, second, writing));
  throw new RemoteError("UPLOAD_DAMAGED", `${input.path} arrived damaged twice`, {
    hint: "look at the free space, the quota and the health of that disk",
  });
};

const isDamaged = (outcome: ExecOutcome): boolean => outcome.kind === "exited" && outcome.code === DIFFERS;

async function sendFrom(ways: UploadWays, input: JobInput, offset: number): Promise<ExecOutcome> {
  const { transport, umask, group, signal } = ways;
  const file = createReadStream(input.source ?? "", { start: offset, highWaterMark: READ_AT_ONCE });
  const counted = new Transform({
    readableHighWaterMark: READ_AT_ONCE,
    transform(chunk: Buffer, _encoding, done) {
      ways.onBytes(chunk.length);
      done(undefined, chunk);
    },
  });
  file.on("error", (error) => counted.destroy(error));
  const { path, bytes, sha256 } = input;
  return farScript(
    transport,
    RECEIVE,
    [path, posix.dirname(path), String(offset), sha256, umask, group, String(bytes)],
    {
      stdin: file.pipe(counted),
      deadline: deadlineFor(bytes),
      signal,
    },
  );
}

// Written from the offset on without cutting, so that two senders of one file do no harm: both write the same bytes to the same
// places. What is hashed is what lies there, not what came; and the very file that was hashed gets the name (a link to the open
// file), never one that another sender has put in its place meanwhile. On a full disk the part goes, so that others can go on.
const RECEIVE = `set -e
${HASH_WORD}
umask "$5"
[ -d "$2" ] || { mkdir -p -- "$2"; [ -z "$6" ] || { chgrp -- "$6" "$2"; chmod g+s -- "$2"; }; }
part="$1.part"
[ ! -e "$part" ] || [ "$(stat -c %s -- "$part")" -le "$7" ] || rm -f -- "$part"
: >> "$part"
exec 3< "$part"
said=$(dd "of=$part" bs=1M "seek=$3" oflag=seek_bytes iflag=fullblock conv=notrunc status=none 2>&1) || {
  case $said in *[Ss]pace*left* | *[Qq]uota*) rm -f -- "$part" ;; esac
  printf '%s\n' "$said" >&2
  exit 1
}
[ ! -e "$1" ] || { rm -f -- "$part"; exit 0; }
size=$(stat -L -c %s /dev/fd/3)
[ "$size" -ge "$7" ] || exit ${DIFFERS}
sum=$(hash <&3)
if [ "$size" != "$7" ] || [ "\${sum%% *}" != "$4" ]; then
  [ ! -e "$1" ] || exit 0
  rm -f -- "$part"
  exit ${DIFFERS}
fi
[ -z "$6" ] || chgrp -- "$6" /dev/fd/3
sync /dev/fd/3 2>/dev/null || sync
if ln -L -- /dev/fd/3 "$1" 2>/dev/null; then
  [ ! "$part" -ef "$1" ] || rm -f -- "$part"
elif [ ! -e "$1" ] && [ "$part" -ef /dev/fd/3 ]; then
  mv -- "$part" "$1"
fi
[ -e "$1" ]
sync -- "$2" 2>/dev/null || sync`;

/** UserErrors `INPUT_GONE`, `INPUT_CHANGED` when a file here has not the recorded size. */
export async function checkSource(source: string, input: JobInput): Promise<void> {
  let size: number;
  try {
    ({ size } = await stat(source));
  } catch (error) {
    throw new UserError("INPUT_GONE", `${source} cannot be read: ${systemText(error)}`, { cause: error });
  }
  if (size !== input.bytes) throw changedSource(source, `it has ${size} bytes and not ${input.bytes}`);
}

/** The error of a file here that is not what was recorded. */
export const changedSource = (source: string, how: string): UserError =>
  new UserError("INPUT_CHANGED", `${source} is not what was recorded: ${how}`, {
    hint: "pack it again, or bring the recorded file back",
  });
