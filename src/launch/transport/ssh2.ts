import type { Client, ClientChannel } from "ssh2";
import { messageOf } from "../../core/errors.ts";
import { killScript, type Channel, type ChannelEnd } from "./channel.ts";
import { CHANNELS, framedTransport, NotOpened, type TransportWorld } from "./framed-transport.ts";
import type { ResolvedHost } from "./ssh-config.ts";
import { connectAll } from "./ssh2-connect.ts";
import type { Transport } from "./transport.ts";

/**
 * Commands over one connection of the ssh2 library, which is opened by the first of them and again after a loss. Milliseconds:
 * `deadline` for a command that names none, `connect` for each host on the way.
 */
export const ssh2Transport = (
  hops: readonly ResolvedHost[],
  world: TransportWorld,
  { deadline, connect }: { readonly deadline: number; readonly connect: number },
): Transport => {
  let connecting: Promise<readonly Client[]> | undefined;
  const connection = async (): Promise<Client> => {
    connecting ??= connectAll(hops, connect).then((clients) => {
      const client = clients.at(-1);
      const lost = (): void => {
        connecting = undefined;
        for (const each of clients.toReversed()) each.destroy();
      };
      // A lost connection may announce itself by any of these, and not by the others.
      client?.once("error", lost).once("end", lost).once("close", lost);
      return clients;
    });
    try {
      const clients = await connecting;
      const client = clients.at(-1);
      if (client === undefined) throw new NotOpened({ code: "UNREACHABLE", reason: "no host is named" });
      return client;
    } catch (error) {
      connecting = undefined;
      throw error;
    }
  };
  const target = hops.at(-1);
  return framedTransport(
    {
      name: `${target?.user ?? ""}@${target?.alias.split("@").at(-1) ?? ""} (ssh2)`,
      open: async ({ command }) => {
        const client = await connection();
        return openChannel(client, command, (stream) => channelOf(client, stream));
      },
      close: async () => {
        const clients = await connecting?.catch(() => []);
        connecting = undefined;
        for (const client of clients?.toReversed() ?? []) client.end();
      },
    },
    { clock: world.clock, channels: CHANNELS, deadline },
  );
};

/** `use` listens to the stream at once: a command that ends quickly says how in the very packet that opens the stream. */
async function openChannel<Used>(
  client: Client,
  command: string,
  use: (stream: ClientChannel) => Used,
): Promise<Used> {
  return new Promise((resolve, reject) => {
    const refuse = (error: Error): void => reject(new NotOpened(refusalOf(error)));
    const lost = (): void => reject(new NotOpened(LOST));
    client.once("close", lost);
    try {
      client.exec(command, (error, stream) => {
        client.removeListener("close", lost);
        if (error) refuse(error);
        else resolve(use(stream));
      });
    } catch (error) {
      client.removeListener("close", lost);
      refuse(error instanceof Error ? error : new Error(messageOf(error)));
    }
  });
}

const LOST: ChannelEnd = {
  code: "CONNECTION_LOST",
  reason: "the connection was lost",
  again: "dead-connection",
};

// 2: sshd's answer to one session too many; 4: a shortage that may pass.
const BUSY = [2, 4];

function refusalOf(error: Error): ChannelEnd {
  if (error.message === "Not connected") return LOST;
  const isBusy = "reason" in error && typeof error.reason === "number" && BUSY.includes(error.reason);
  return {
    code: "CHANNEL_REFUSED",
    reason: `no channel could be opened: ${error.message}`,
    ...(isBusy ? { again: "no-channel" } : {}),
  };
}

function channelOf(client: Client, stream: ClientChannel): Channel {
  let exit: string | undefined;
  stream.once("exit", (code: number | null, signal?: string) => {
    exit = signal ?? `exit ${code}`;
  });
  const ended = new Promise<ChannelEnd>((resolve) => {
    stream.once("close", () =>
      resolve(
        exit === undefined
          ? LOST
          : {
              code: "CONNECTION_LOST",
              reason: `the shell there ended without saying what became of it (${exit})`,
            },
      ),
    );
    client.once("close", () => resolve(LOST));
  });
  return {
    stdin: stream,
    stdout: stream,
    stderr: stream.stderr,
    ended,
    kill: (pid) => {
      stream.signal("TERM");
      openChannel(client, `exec /bin/sh -c '${killScript(pid)}'`, (killer) =>
        killer.on("error", () => undefined).resume(),
      ).catch(() => undefined);
    },
    close: () => stream.destroy(),
  };
}
