import { randomBytes } from "node:crypto";
import { shellQuote } from "../plan-text.ts";

/**
 * How one command is carried through a login shell whose kind and manners are unknown. The far shell gets a fixed line that
 * any shell (csh and fish included) passes on unchanged; a POSIX sh then says that it is ready and waits. Only now the
 * command is sent, as one line on standard input, so that before the answer it has certainly not been started, and neither
 * its length nor its characters matter. Random marks around its output keep banners and start-up files apart from it, and its
 * exit status travels in the last mark.
 */
export interface Frame {
  /** What the login shell is asked to run. */
  readonly command: string;
  /** Followed by `:PID:` when the far sh waits for the line. */
  readonly ready: string;
  /** The line to send then. */
  readonly line: string;
  /** Stands before the output, on both streams. */
  readonly begin: string;
  /** Stands behind it; on standard output followed by `:STATUS:`. */
  readonly end: string;
}

export const frameOf = (argv: readonly [string, ...string[]]): Frame => {
  const [ready, begin, end] = [mark(), mark(), mark()];
  const program = argv.map(shellQuote).join(" ");
  // A subshell with exec: a program is meant, even where the shell has a builtin of its name.
  const text = `printf %s ${begin}; printf %s ${begin} >&2; (exec ${program}); s=$?; printf %s:%s: ${end} $s; printf %s ${end} >&2`;
  return {
    command: `exec /bin/sh -c 'printf %s:%s: ${ready} $$; IFS= read -r u && eval "$(printf %b "$u")"'`,
    ready,
    line: `${printable(text)}\n`,
    begin,
    end,
  };
};

const mark = (): string => `us${randomBytes(16).toString("hex")}`;

// For printf %b: a line of plain ASCII, since some shells mistake other bytes while reading.
function printable(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) =>
      byte >= 0x20 && byte < 0x7f && byte !== 0x5c
        ? String.fromCharCode(byte)
        : `\\0${byte.toString(8).padStart(3, "0")}`,
    )
    .join("");
}
