import type { Readable } from "node:stream";

export interface ExecOptions {
  readonly stdin?: string | Uint8Array | Readable;
  /** Milliseconds until the call counts as a transport error; the far program is ended then, where it can be reached. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
  /** Bytes of output kept of each stream; more is a transport error, never silently cut. Default 16 MiB. */
  readonly limit?: number;
  /** Takes standard output piece by piece as it comes, with back-pressure; nothing of it is kept then, and nothing is too long. */
  readonly onStdout?: (chunk: Buffer) => Promise<void>;
}

/**
 * What became of one command. rc 255 of an ssh program, a lost connection and a deadline are never an exit code.
 * `signalled`: killed by that signal, or exited with 128 + its number, as a shell reports such a death.
 */
export type ExecOutcome =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: Buffer; readonly stderr: string }
  | { readonly kind: "signalled"; readonly signal: string; readonly stdout: Buffer; readonly stderr: string }
  | {
      readonly kind: "transport-error";
      /** `no`: the command was certainly never started; `unknown`: it may have run, or still run. */
      readonly started: "no" | "unknown";
      readonly code: TransportErrorCode;
      readonly reason: string;
      readonly hint?: string;
    };

export type TransportErrorCode =
  | "UNREACHABLE"
  | "HOST_KEY_CHANGED"
  | "HOST_KEY_UNKNOWN"
  | "AUTH_FAILED"
  /** Settings here with which the machine cannot be reached, e.g. a wrong ssh_config. */
  | "UNFIT"
  | "CONNECTION_LOST"
  | "DEADLINE"
  | "OUTPUT_TOO_LONG"
  | "ABORTED"
  | "CHANNEL_REFUSED";

/**
 * A way to run programs on a machine that has POSIX sh and coreutils. Arguments arrive byte for byte; standard output is only
 * the program's own, whatever a login shell prints around it. Files are moved by `far-files.ts` on top of this.
 */
export interface Transport {
  /** For people, e.g. `trainer@login1 (ssh2)`. */
  readonly name: string;
  exec(argv: readonly [string, ...string[]], options?: ExecOptions): Promise<ExecOutcome>;
  close(): Promise<void>;
  /** Another way to the same machine that moves many bytes faster, where there is one; `close` ends it too. */
  readonly bulk?: Transport;
}
