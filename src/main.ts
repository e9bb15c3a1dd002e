import { programName, runUnderstudy, type Sink } from "./cli/index.ts";
import { systemClock } from "./core/clock.ts";

// What a shell reports for a program that died of the signal.
const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

const ending = new AbortController();
let requested: number | undefined;

// The first Ctrl-C asks for an orderly end. Whoever presses it twice means it: without handlers the system ends the
// program at once, which process.exit() would not while a read from a dead network disk is under way.
const onSignal = (signal: NodeJS.Signals): void => {
  for (const name of ["SIGINT", "SIGTERM"] as const) process.removeListener(name, onSignal);
  requested = SIGNAL_CODES[signal === "SIGTERM" ? "SIGTERM" : "SIGINT"];
  ending.abort(new Error("Interrupted"));
};
process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);

// `understudy … | head` closes the pipe early; that is the reader's right and no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

// Printed by Amazon's client on Node 20, which it supports for the pinned version: nothing its reader could act on.
process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";

const sink = (stream: NodeJS.WriteStream): Sink => ({
  write: (text) => void stream.write(text),
  isTerminal: stream.isTTY,
  get width() {
    // A terminal may say that it has none.
    return stream.columns || 80;
  },
});

const code = await runUnderstudy(process.argv.slice(2), {
  cwd: process.cwd(),
  environment: process.env,
  stdout: sink(process.stdout),
  stderr: sink(process.stderr),
  clock: systemClock,
  fetch: globalThis.fetch,
  program: programName(process.argv[1] ?? "", process.env),
  signal: ending.signal,
});
// Not process.exit(): what is still on its way to a pipe has to arrive.
process.exitCode = requested !== undefined && code !== 0 ? requested : code;
