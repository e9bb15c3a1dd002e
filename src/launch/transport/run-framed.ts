import { constants } from "node:os";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { Channel, ChannelEnd } from "./channel.ts";
import { collector, TooLong } from "./collector.ts";
import type { Frame } from "./frame.ts";
import { markedStream } from "./marked-stream.ts";
import { send } from "./send.ts";
import type { ExecOptions, ExecOutcome } from "./transport.ts";

const OUTPUT_LIMIT = 16 * 1024 * 1024;
const LAST_WORDS = 2000;
const NOISE_SHOWN = 500;

export type FramedOutcome =
  | Exclude<ExecOutcome, { kind: "transport-error" }>
  | { readonly kind: "broken"; readonly started: "no" | "unknown"; readonly end: ChannelEnd };

interface Running {
  /** What the login shell said before anything was started. */
  noise: { stdout: string; stderr: string };
  /** Of the far shell, once the command has been sent to it. */
  pid: number | undefined;
  settle: (outcome: FramedOutcome) => void;
  fail: (error: unknown) => void;
}

/**
 * Runs one framed command on an open channel, which is closed then. `stop` resolves with the cause when the command must not
 * go on (deadline, caller's signal): its process group is ended. Rejects when the caller's own stream of input or output fails.
 */
export const runFramed = async (
  channel: Channel,
  frame: Frame,
  options: ExecOptions,
  stop: Promise<ChannelEnd>,
): Promise<FramedOutcome> => {
  const input = new AbortController();
  const running: Running = {
    noise: { stdout: "", stderr: "" },
    pid: undefined,
    settle: () => undefined,
    fail: () => undefined,
  };
  try {
    const outcome = await new Promise<FramedOutcome>((resolve, reject) => {
      running.settle = resolve;
      running.fail = (error) => {
        if (error instanceof TooLong) broken(running, { code: "OUTPUT_TOO_LONG", reason: error.message });
        else reject(error instanceof Error ? error : new Error(String(error)));
      };
      listen({ channel, frame, options, input: input.signal }, running);
      void stop.then((end) => broken(running, end));
    });
    if (outcome.kind === "broken" && running.pid !== undefined) channel.kill(running.pid);
    return outcome;
  } catch (error) {
    if (running.pid !== undefined) channel.kill(running.pid);
    throw error;
  } finally {
    input.abort();
    channel.close();
  }
};

const broken = (running: Running, end: ChannelEnd): void =>
  running.settle({ kind: "broken", started: running.pid === undefined ? "no" : "unknown", end });

// The connection is sound, but the login shell ended without handing over: a closed account, a forced command.
function neverReady(end: ChannelEnd, { noise }: Running): ChannelEnd {
  if (end.code !== "CONNECTION_LOST" || end.again !== undefined) return end;
  const words = `${noise.stdout}\n${noise.stderr}`.trim().slice(-NOISE_SHOWN);
  return {
    code: "CHANNEL_REFUSED",
    reason: `the login shell there does not run commands${words === "" ? "" : `; it says: ${words}`}`,
    hint: "log in by hand and see that `/bin/sh -c true` works there",
  };
}

interface Exchange {
  readonly channel: Channel;
  readonly frame: Frame;
  readonly options: ExecOptions;
  readonly input: AbortSignal;
}

function listen({ channel, frame, options, input }: Exchange, running: Running): void {
  const limit = options.limit ?? OUTPUT_LIMIT;
  const stdout = collector(limit, options.onStdout);
  const stderr = collector(limit);
  const marks = { begin: frame.begin, end: frame.end };
  const ready = new RegExp(`${frame.ready}:(\\d+):`);
  let status: number | undefined;

  const output = markedStream({
    ...marks,
    withStatus: true,
    onNoise: (noise) => {
      running.noise.stdout = noise;
      const pid = running.pid === undefined ? ready.exec(noise)?.[1] : undefined;
      // 0 and 1 would mean other processes than that shell.
      if (pid === undefined || Number(pid) <= 1) return;
      running.pid = Number(pid);
      send(channel.stdin, { line: frame.line, input: options.stdin }, input).catch((error: unknown) =>
        running.fail(error),
      );
    },
    onEnd: (text) => {
      status = Number(text);
    },
  });
  const errors = markedStream({
    ...marks,
    withStatus: false,
    onNoise: (noise) => {
      running.noise.stderr = noise;
    },
  });
  const taken = { stdout: false, stderr: false };
  const finish = (): void => {
    if (status === undefined || !taken.stdout || !taken.stderr) return;
    running.settle(outcomeOf(status, stdout.bytes(), stderr.bytes().toString("utf8")));
  };
  const finished = [
    drain(channel.stdout, running, async (chunk) => {
      const body = output.push(chunk);
      if (body.length > 0) await stdout.take(body);
      taken.stdout = output.ended;
      finish();
    }),
    drain(channel.stderr, running, async (chunk) => {
      const body = errors.push(chunk);
      if (body.length > 0) await stderr.take(body);
      taken.stderr = errors.ended;
      finish();
    }),
  ];
  // What was sent before the end may still be on its way to us.
  void channel.ended.then(async (end) => {
    await Promise.race([Promise.all(finished), wait(LAST_WORDS)]);
    broken(running, running.pid === undefined ? neverReady(end, running) : end);
  });
}

// Resolves when the stream has ended and all of it was taken, one chunk after the other.
async function drain(
  stream: Readable,
  running: Running,
  take: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  let last: Promise<void> = Promise.resolve();
  stream.on("data", (chunk: Buffer) => {
    // A paused stream may still give what it has in its hands: that waits for its turn.
    stream.pause();
    last = last
      .then(async () => take(chunk))
      .then(() => void stream.resume())
      .catch((error: unknown) => running.fail(error));
  });
  return new Promise((resolve) => {
    const ended = (): void => void last.then(resolve);
    // A stream that breaks also ends its channel, which says why.
    stream.once("end", ended).once("close", ended).on("error", ended);
  });
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
const SHELL_SIGNAL_BASE = 128;

function outcomeOf(status: number, stdout: Buffer, stderr: string): FramedOutcome {
  const signal = SIGNALS.get(status - SHELL_SIGNAL_BASE);
  return signal === undefined
    ? { kind: "exited", code: status, stdout, stderr }
    : { kind: "signalled", signal, stdout, stderr };
}
