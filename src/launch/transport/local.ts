import { spawn } from "node:child_process";
import { messageOf } from "../../core/errors.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import { framedTransport, type TransportWorld } from "./framed-transport.ts";
import type { Transport } from "./transport.ts";

const FORCE_AFTER = 2000;

/** Runs programs on this machine, with the environment of `world`, just as another machine would run them. */
export const localTransport = (world: TransportWorld, deadline?: number): Transport =>
  framedTransport(
    {
      name: "this machine",
      open: async ({ command }) => spawnShell(command, world),
      close: async () => undefined,
    },
    { clock: world.clock, channels: 32, ...(deadline === undefined ? {} : { deadline }) },
  );

async function spawnShell(command: string, world: TransportWorld): Promise<Channel> {
  // A group of its own: a Ctrl-C at the terminal does not end a submission half-way, and a deadline ends its children too.
  const child = spawn("/bin/sh", ["-c", command], {
    env: { ...world.environment },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const { stdin, stdout, stderr } = child;
  const ended = new Promise<ChannelEnd>((resolve) => {
    child.once("error", (error) => resolve({ code: "CHANNEL_REFUSED", reason: messageOf(error) }));
    child.once("close", (code, signal) =>
      resolve({
        code: "CONNECTION_LOST",
        reason: `the shell that ran it ended without saying what became of it (${signal ?? `exit ${code}`})`,
      }),
    );
  });
  return {
    stdin,
    stdout,
    stderr,
    ended,
    kill: (pid) => {
      signalGroup(pid, "SIGTERM");
      setTimeout(() => signalGroup(pid, "SIGKILL"), FORCE_AFTER).unref();
    },
    close: () => {
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    },
  };
}

function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}
