import type { Clock } from "../../core/clock.ts";
import type { LogChunk, LogCursor } from "../schema.ts";
import { farScript, NOT_THERE } from "./far-script.ts";
import { failureOf, must } from "./must.ts";
import type { ExecOutcome, Transport } from "./transport.ts";

const BLOCK = 256 * 1024;
// A progress bar may never end its line: cut it here, so that memory stays bounded and the cursor moves.
const LONGEST_LINE = 1024 * 1024;
const POLL = 2000;
const LONGEST_PAUSE = 30_000;
const NEWLINE = 0x0a;

/**
 * Complete lines of a far file from the cursor on, each exactly once: the cursor of a chunk stands behind its last line. A
 * file that is not there yet is waited for. With `follow` a lost connection is waited out; without it: RemoteError
 * `TRANSPORT_…`.
 */
export async function* farLog(
  transport: Transport,
  path: string,
  cursor: LogCursor,
  ...[options, clock]: readonly [{ readonly follow: boolean; readonly signal: AbortSignal }, Clock]
): AsyncGenerator<LogChunk> {
  let { offset } = cursor;
  let pause = POLL;
  for (let size = BLOCK; !options.signal.aborted;) {
    const outcome = await farScript(transport, TAIL, [path, String(offset + 1), String(size)], {
      limit: size + 1,
      signal: options.signal,
    });
    if (options.signal.aborted) return;
    const bytes = bytesOf(outcome, path, options.follow);
    const lines = completeLines(bytes ?? Buffer.alloc(0), size);
    if (lines.length > 0) {
      offset += lines.length;
      size = BLOCK;
      pause = POLL;
      yield { lines: textLines(lines), cursor: { offset } };
    } else if (bytes?.length === size) {
      size *= 2;
    } else if (options.follow) {
      pause = bytes === undefined ? Math.min(pause * 2, LONGEST_PAUSE) : POLL;
      await clock.sleep(pause, options.signal).catch(() => undefined);
    } else return;
  }
}

const TAIL = `[ -f "$1" ] || exit ${NOT_THERE}
exec < "$1"
tail -c "+$2" | head -c "$3"`;

// Undefined when the machine could not be asked.
function bytesOf(outcome: ExecOutcome, path: string, follow: boolean): Buffer | undefined {
  if (outcome.kind === "exited" && outcome.code === NOT_THERE) return Buffer.alloc(0);
  if (outcome.kind !== "transport-error") return must(outcome, `read ${path}`);
  if (!follow || !MENDABLE.has(outcome.code)) throw failureOf(outcome, `read ${path}`);
  return undefined;
}

// A changed key or a refused login does not mend itself.
const MENDABLE: ReadonlySet<string> = new Set([
  "UNREACHABLE",
  "CONNECTION_LOST",
  "DEADLINE",
  "CHANNEL_REFUSED",
]);

// Cut at a newline byte, which never is part of another character in UTF-8.
function completeLines(bytes: Buffer, size: number): Buffer {
  const last = bytes.lastIndexOf(NEWLINE);
  if (last !== -1) return bytes.subarray(0, last + 1);
  return bytes.length === size && size >= LONGEST_LINE ? bytes : Buffer.alloc(0);
}

function textLines(bytes: Buffer): string[] {
  const end = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
  return bytes.toString("utf8", 0, end).split("\n");
}
