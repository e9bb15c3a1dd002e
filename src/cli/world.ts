import type { Clock } from "../core/clock.ts";
import type { ProgramName } from "./program-name.ts";

/** Where text goes. */
export interface Sink {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Columns of the terminal; 80 when it is none. */
  readonly width: number;
}

/** Columns that lists and tables have to fit in: those of the terminal, any number in a pipe. */
export const columnsOf = ({ stdout }: Pick<World, "stdout">): number =>
  stdout.isTerminal ? stdout.width : Infinity;

/** Everything outside the program that a command may touch. `main.ts` hands in the real one, tests their own. */
export interface World {
  /** Absolute path of the folder the person stands in. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** How hints name this program. Default: it is on the PATH. */
  readonly program?: ProgramName;
  /** Aborted by the first Ctrl-C: finish what must be finished, then end. */
  readonly signal: AbortSignal;
}
