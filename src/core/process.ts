import { RemoteError } from "./errors.ts";

export interface CommandOptions {
  readonly cwd?: string;
  /** The whole environment of the child; nothing is inherited unless given here. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds after which the child is ended. Default: none. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** Called with each line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
}

export interface CommandResult {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** Runs a program without a shell and returns every outcome, failure included. `PROGRAM_MISSING` when it cannot start. */
export const runProgram = async (
  argv: readonly [string, ...string[]],
  options: CommandOptions,
): Promise<CommandResult> => {
  const [program, ...args] = argv;
  // A tenth of a second, for those who start programs.
  const { execa } = await import("execa");
  const child = execa(program, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
    ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
    env: options.env,
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    ...(options.onLine === undefined ? {} : { all: true }),
  });
  const { onLine } = options;
  if (onLine) for await (const line of child.iterable({ from: "all" })) onLine(line);
  const result = await child;
  if (result.failed && result.exitCode === undefined && result.signal === undefined && !result.timedOut) {
    throw new RemoteError("PROGRAM_MISSING", `Could not start ${program}: ${result.shortMessage}`, {
      cause: result.cause,
    });
  }
  return {
    exitCode: result.exitCode,
    signal: result.signal,
    stdout: result.stdout,
    stderr: result.stderr,
    timedOut: result.timedOut,
  };
};
