import type { Readable, Writable } from "node:stream";
import type { TransportErrorCode } from "./transport.ts";

/** Three streams to a far shell. */
export interface Channel {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when nothing more comes, with what is known of the cause. */
  readonly ended: Promise<ChannelEnd>;
  /** Ends the process group of the far shell, where it can still be reached; waits for nothing. */
  kill(pid: number): void;
  close(): void;
}

/** Why a channel could not be opened, or ended without saying what became of its command. */
export interface ChannelEnd {
  readonly code: TransportErrorCode;
  readonly reason: string;
  readonly hint?: string;
  /** Worth another try when nothing was started: no channel was free, or the connection had died unseen. */
  readonly again?: "no-channel" | "dead-connection";
}

/** First asks the process group to end, then forces it. Not `kill -TERM --`, which dash does not understand. */
export const killScript = (pid: number): string =>
  `kill -s TERM -- -${pid} 2>/dev/null || kill -s TERM ${pid} 2>/dev/null; sleep 2; kill -s KILL -- -${pid} 2>/dev/null`;
