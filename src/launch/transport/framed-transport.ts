import type { Clock } from "../../core/clock.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import { frameOf, type Frame } from "./frame.ts";
import { gate } from "./gate.ts";
import { runFramed, type FramedOutcome } from "./run-framed.ts";
import { stopAfter, type Stop } from "./stop.ts";
import type { ExecOptions, ExecOutcome, Transport } from "./transport.ts";

/** What a transport needs of the world around it. */
export interface TransportWorld {
  readonly clock: Clock;
  /** Of the person at the keyboard: PATH, HOME, SSH_AUTH_SOCK are taken from it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What differs between the ways to reach a machine: how a channel to a shell on it is opened. */
export interface Carrier {
  readonly name: string;
  /** Throws {@link NotOpened} while nothing has been started; connects first where that is needed. */
  open(frame: Pick<Frame, "command">, stop: AbortSignal): Promise<Channel>;
  close(): Promise<void>;
}

/** The channel did not come to be: nothing of the command has left this machine. */
export class NotOpened extends Error {
  readonly end: ChannelEnd;
  constructor(end: ChannelEnd) {
    super(end.reason);
    this.end = end;
  }
}

interface Settings {
  readonly clock: Clock;
  /** Commands at once; the others wait. */
  readonly channels: number;
  /** Milliseconds, of calls that name none. */
  readonly deadline?: number;
}

/** Below the 10 sessions that sshd allows on one connection by default. */
export const CHANNELS = 8;

const DEADLINE = 30_000;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2000;
// A connection that dies before each command is not going to be mended by opening it again and again.
const RECONNECTIONS = 2;

/** Commands over channels: bounded, with a deadline, tried again only while certainly nothing has been started. */
export const framedTransport = (carrier: Carrier, settings: Settings): Transport => {
  const channels = gate(settings.channels);
  return {
    name: carrier.name,
    exec: async (argv, options = {}) => {
      const stop = stopAfter(options.deadline ?? settings.deadline ?? DEADLINE, options.signal);
      try {
        return told(await untilStarted({ carrier, argv, options, stop, channels, clock: settings.clock }));
      } finally {
        stop.clear();
      }
    },
    close: async () => carrier.close(),
  };
};

interface Call {
  readonly carrier: Carrier;
  readonly argv: readonly [string, ...string[]];
  readonly options: ExecOptions;
  readonly stop: Stop;
  readonly channels: ReturnType<typeof gate>;
  readonly clock: Clock;
}

async function untilStarted(call: Call): Promise<FramedOutcome> {
  let reconnections = 0;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    const outcome = await once(call);
    if (outcome.kind !== "broken" || outcome.started !== "no" || call.stop.signal.aborted) return outcome;
    const { again } = outcome.end;
    if (again === undefined || (again === "dead-connection" && ++reconnections > RECONNECTIONS))
      return outcome;
    try {
      await call.clock.sleep(pause, call.stop.signal);
    } catch {
      return outcome;
    }
  }
}

async function once(call: Call): Promise<FramedOutcome> {
  const { stop } = call;
  const refused = stop.cause.then((end): FramedOutcome => ({ kind: "broken", started: "no", end }));
  const leave = await Promise.race([call.channels.enter(stop.signal), refused]);
  if (typeof leave !== "function") return leave;
  try {
    const frame = frameOf(call.argv);
    const opening = call.carrier.open(frame, stop.signal);
    const channel = await Promise.race([opening, refused]);
    if ("kind" in channel) {
      opening.then((late) => late.close()).catch(() => undefined);
      return channel;
    }
    return await runFramed(channel, frame, call.options, stop.cause);
  } catch (error) {
    if (error instanceof NotOpened) return { kind: "broken", started: "no", end: error.end };
    throw error;
  } finally {
    leave();
  }
}

function told(outcome: FramedOutcome): ExecOutcome {
  if (outcome.kind !== "broken") return outcome;
  const { code, reason, hint } = outcome.end;
  return {
    kind: "transport-error",
    started: outcome.started,
    code,
    reason,
    ...(hint === undefined ? {} : { hint }),
  };
}
