import type { Duplex } from "node:stream";
import ssh2, {
  type CipherAlgorithm,
  type Client,
  type ClientErrorExtensions,
  type ServerHostKeyAlgorithm,
} from "ssh2";
import type { ChannelEnd } from "./channel.ts";
import { NotOpened } from "./framed-transport.ts";
import { readHostKeys, refusalOf, type HostKeys } from "./host-key.ts";
import { loginOf, type Login } from "./ssh2-auth.ts";
import type { ResolvedHost } from "./ssh-config.ts";

// A dead peer is noticed after a quarter of a minute; an interruption of a few seconds is survived.
const KEEPALIVE = 5000;
const KEEPALIVES_MISSED = 3;
// Done by the processor itself, first; the rest is for old servers.
const CIPHERS: CipherAlgorithm[] = [
  "aes128-gcm@openssh.com",
  "aes256-gcm@openssh.com",
  "aes128-ctr",
  "aes256-ctr",
  "chacha20-poly1305@openssh.com",
];

/** Connects through all hops, each with its key checked. Throws {@link NotOpened}; nothing is left open then. */
export const connectAll = async (
  hops: readonly ResolvedHost[],
  timeout: number,
): Promise<readonly Client[]> => {
  const clients: Client[] = [];
  try {
    for (const [index, host] of hops.entries()) {
      const last = clients.at(-1);
      const sock = last === undefined ? undefined : await forward(last, hops[index - 1], host);
      clients.push(await connect(host, sock, timeout));
    }
    return clients;
  } catch (error) {
    for (const client of clients.toReversed()) client.destroy();
    throw error;
  }
};

async function forward(client: Client, from: ResolvedHost | undefined, to: ResolvedHost): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    client.forwardOut("127.0.0.1", 0, to.hostName, to.port, (error, stream) => {
      if (error === undefined) resolve(stream);
      else {
        reject(
          new NotOpened({
            code: "UNREACHABLE",
            reason: `${from?.alias ?? "the jump host"} cannot reach ${to.hostName} port ${to.port}: ${error.message}`,
          }),
        );
      }
    });
  });
}

async function connect(host: ResolvedHost, sock: Duplex | undefined, timeout: number): Promise<Client> {
  const [keys, login] = await Promise.all([readHostKeys(host), loginOf(host)]);
  const client = new ssh2.Client();
  // Each channel listens for the loss of its connection.
  client.setMaxListeners(0);
  let refusal: ChannelEnd | undefined;
  let partly = false;
  const methods = login.methods.values();
  await new Promise<void>((resolve, reject) => {
    const fail = (end: ChannelEnd): void => {
      client.destroy();
      reject(new NotOpened(refusal ?? end));
    };
    client.once("ready", resolve);
    client.on("error", (error) => fail(endOf(error, { host, login, partly, timeout })));
    client.once("close", () => fail({ code: "UNREACHABLE", reason: `${place(host)} closed the connection` }));
    client.connect({
      ...(sock === undefined ? { host: host.hostName, port: host.port } : { sock }),
      username: host.user,
      readyTimeout: timeout,
      keepaliveInterval: KEEPALIVE,
      keepaliveCountMax: KEEPALIVES_MISSED,
      algorithms: { cipher: CIPHERS, serverHostKey: keyKinds(keys) },
      hostVerifier: (key: Buffer) => {
        refusal = refusalOf(keys, key);
        return refusal === undefined;
      },
      authHandler: (_left, isPartial, next) => {
        partly ||= isPartial;
        const method = methods.next();
        if (method.done === true) return false;
        next(method.value);
        return undefined;
      },
    });
  });
  return client;
}

// Kinds of which a key is recorded come first: a server with several keys shows the one that can be checked.
function keyKinds(keys: HostKeys): ServerHostKeyAlgorithm[] {
  const known = keys.known.types(keys.name).flatMap((type) => (type === "ssh-rsa" ? RSA : [type]));
  const all: ServerHostKeyAlgorithm[] = [
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    ...RSA,
  ];
  return all.toSorted((a, b) => Number(known.includes(b)) - Number(known.includes(a)));
}

const RSA: ServerHostKeyAlgorithm[] = ["rsa-sha2-512", "rsa-sha2-256"];

interface Attempt {
  readonly host: ResolvedHost;
  readonly login: Login;
  readonly partly: boolean;
  readonly timeout: number;
}

function endOf(error: Error & ClientErrorExtensions, { host, login, partly, timeout }: Attempt): ChannelEnd {
  if (error.level === "client-authentication" || error.level === "agent") {
    const unused = login.unused.length > 0 ? ` (${login.unused.join("; ")})` : "";
    return {
      code: "AUTH_FAILED",
      reason: partly
        ? `${place(host)} wants a second factor from ${host.user}`
        : `${place(host)} refused ${host.user}${unused}`,
      hint: partly
        ? "set ControlMaster and ControlPath for it in ssh_config, log in once in another terminal, and choose transport: openssh"
        : "check the user and the key; a key with a passphrase is unlocked by: ssh-add KEY",
    };
  }
  if (error.level === "client-timeout") {
    return { code: "UNREACHABLE", reason: `${place(host)} did not answer within ${timeout / 1000} s` };
  }
  return { code: "UNREACHABLE", reason: `${place(host)} cannot be reached: ${error.message}` };
}

const place = (host: ResolvedHost): string => `${host.hostName} port ${host.port}`;
