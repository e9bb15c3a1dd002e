import { spawn } from "node:child_process";
import type { SshEndpoint } from "../profile.ts";
import type { Access } from "./access.ts";
import { killScript, type Channel, type ChannelEnd } from "./channel.ts";
import { CHANNELS, framedTransport, type TransportWorld } from "./framed-transport.ts";
import { channelEnd } from "./openssh-errors.ts";
import { sharedConnection } from "./openssh-master.ts";
import type { ResolvedHost } from "./ssh-config.ts";
import type { Transport } from "./transport.ts";

interface Request {
  readonly endpoint: SshEndpoint;
  readonly access: Access;
  readonly target: ResolvedHost;
}

/** Commands over one shared connection of the OpenSSH program, which is opened by the first of them and again after a loss. */
export const openSshTransport = (request: Request, world: TransportWorld): Transport => {
  const { target, access } = request;
  const master = sharedConnection({ ...request, world });
  return framedTransport(
    {
      name: `${target.user}@${target.alias.split("@").at(-1) ?? ""} (openssh)`,
      open: async ({ command }) => {
        const socket = await master.socket();
        const client = (text: string): ReturnType<typeof startClient> =>
          startClient({ socket, host: target.hostName, command: text }, world);
        return channelOf(client(command), {
          suspect: master.suspect,
          kill: (pid) => void client(`exec /bin/sh -c '${killScript(pid)}'`),
        });
      },
      close: async () => master.close(),
    },
    { clock: world.clock, channels: CHANNELS, deadline: access.deadlineSeconds * 1000 },
  );
};

// Where the shared connection is gone, ssh would quietly open one of its own: the false proxy prevents that.
const CLIENT = [
  "-F",
  "/dev/null",
  "-T",
  "-o",
  "BatchMode=yes",
  "-o",
  "LogLevel=ERROR",
  "-o",
  "ProxyCommand=false",
];

function startClient(
  { socket, host, command }: { readonly socket: string; readonly host: string; readonly command: string },
  world: TransportWorld,
): ReturnType<typeof spawnPiped> {
  return spawnPiped([...CLIENT, "-S", socket, "--", host, command], world);
}

// A group of its own: a Ctrl-C at the terminal does not end a submission half-way.
const spawnPiped = (words: readonly string[], world: TransportWorld) =>
  spawn("ssh", words, {
    env: { ...world.environment },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });

const STDERR_KEPT = 4096;

function channelOf(
  client: ReturnType<typeof startClient>,
  { suspect, kill }: { readonly suspect: () => void; readonly kill: (pid: number) => void },
): Channel {
  let said = "";
  client.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("latin1")).slice(-STDERR_KEPT);
  });
  const ended = new Promise<ChannelEnd>((resolve) => {
    client.once("error", (error) => resolve({ code: "CHANNEL_REFUSED", reason: error.message }));
    client.once("close", (code, signal) => {
      const end = channelEnd(code, signal, said);
      if (end.again === "dead-connection") suspect();
      resolve(end);
    });
  });
  return {
    stdin: client.stdin,
    stdout: client.stdout,
    stderr: client.stderr,
    ended,
    kill,
    close: () => {
      for (const stream of [client.stdin, client.stdout, client.stderr]) stream.destroy();
      client.kill();
    },
  };
}
