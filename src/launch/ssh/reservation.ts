import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { Plan } from "../schema.ts";
import { askHost, type HostScripts, type Problem } from "./ask-host.ts";
import type { Host } from "./hosts.ts";
import type { SshProfile } from "./launcher.ts";

// A fifth of what host-lib.sh waits before it gives a silent reservation away.
const RENEW_EVERY = 60_000;

/** GPUs of one host, kept for a job while its files are sent. Only the start that names `nonce` can use it. */
export interface Reservation {
  readonly host: Host;
  readonly nonce: string;
  /** Ends the renewal; the reservation lapses by itself unless it was used or is released. */
  readonly stop: () => void;
  /** Gives the GPUs back at once, if the host can be reached. */
  readonly release: () => Promise<void>;
}

export type ReserveOutcome =
  | { readonly kind: "reserved"; readonly reservation: Reservation }
  | { readonly kind: "busy"; readonly reason: string }
  /** No waiting helps. */
  | { readonly kind: "unfit"; readonly reason: string }
  | { readonly kind: "taken" }
  | Problem;

export interface ReserveOptions {
  readonly profile: SshProfile;
  readonly scripts: HostScripts;
  readonly clock: Clock;
  readonly gpus: number;
}

/** Locks a host for the attempt of a plan. `taken`: the attempt has been started there meanwhile. */
export const reserve = async (host: Host, plan: Plan, options: ReserveOptions): Promise<ReserveOutcome> => {
  const { profile, scripts, clock, gpus } = options;
  const job = `${plan.attempt.marker}.${plan.attempt.token}`;
  const nonce = randomBytes(8).toString("hex");
  const limits = [profile.device, gpus, profile.maxHeldMebibytes, profile.jobsPerHost ?? 0].map(String);
  const ask = async (words: readonly string[]): ReturnType<typeof askHost> =>
    askHost(host, { script: scripts.lock, args: words });
  const reply = await ask(["reserve", job, nonce, ...limits]);
  if (reply.kind === "problem") return reply;
  const [line] = reply.lines;
  if (line?.word === "taken") return { kind: "taken" };
  if (line?.word === "unfit") return { kind: "unfit", reason: `${host.name}: ${line.rest}` };
  if (line?.word !== "gpus") return { kind: "busy", reason: `${host.name}: ${line?.rest ?? "no answer"}` };
  const stop = new AbortController();
  void renew(stop.signal, clock, async () => ask(["renew", job, nonce]));
  return {
    kind: "reserved",
    reservation: {
      host,
      nonce,
      stop: () => stop.abort(),
      release: async () => {
        stop.abort();
        await ask(["release", job, nonce]);
      },
    },
  };
};

// A renewal that fails changes nothing yet: the start finds out.
async function renew(signal: AbortSignal, clock: Clock, again: () => Promise<unknown>): Promise<void> {
  for (;;) {
    await clock.sleep(RENEW_EVERY, signal).catch(() => undefined);
    if (signal.aborted) return;
    await again();
  }
}
