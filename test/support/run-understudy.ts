import { runUnderstudy as run, type Sink } from "../../src/cli/index.ts";
import { systemClock } from "../../src/core/clock.ts";

export interface RunOptions {
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Default: no terminal, as in a pipe. */
  readonly isTerminal?: boolean;
  /** Columns of the terminal. Default: 100. */
  readonly width?: number;
  readonly signal?: AbortSignal;
}

export interface RunOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process with sinks that remember. The network is refused. */
export const runUnderstudy = async (words: readonly string[], options: RunOptions): Promise<RunOutcome> => {
  const { isTerminal = false, width = 100 } = options;
  const stdout = remember(isTerminal, width);
  const stderr = remember(isTerminal, width);
  const exitCode = await run(words, {
    cwd: options.cwd,
    environment: options.environment ?? {},
    stdout,
    stderr,
    clock: systemClock,
    fetch: () => Promise.reject(new Error("a test of the command line asked for the network")),
    signal: options.signal ?? new AbortController().signal,
  });
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
};

function remember(isTerminal: boolean, width: number): Sink & { text(): string } {
  const written: string[] = [];
  return { write: (text) => void written.push(text), isTerminal, width, text: () => written.join("") };
}
