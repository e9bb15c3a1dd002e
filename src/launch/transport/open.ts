import { UserError } from "../../core/errors.ts";
import type { SshEndpoint } from "../profile.ts";
import type { Access } from "./access.ts";
import { needsOpenSsh } from "./choose.ts";
import type { TransportWorld } from "./framed-transport.ts";
import { localTransport } from "./local.ts";
import { parseHop, resolveHost, withHome, type ResolvedHost } from "./ssh-config.ts";
import type { Transport } from "./transport.ts";

/**
 * The way to a machine; null is this one. Nothing is connected before the first command. `auto` takes the OpenSSH program for
 * what the library cannot do, and the library else; then large uploads still take the program where it is installed. UserErrors `SSH_CONFIG_INVALID`, `SSH_PROGRAM_MISSING`, `TRANSPORT_UNFIT`.
 */
export const openTransport = async (
  asked: SshEndpoint | null,
  written: Access,
  world: TransportWorld,
): Promise<Transport> => {
  const deadline = written.deadlineSeconds * 1000;
  if (asked === null) return localTransport(world, deadline);
  // Of this machine, as whoever starts this program writes them.
  const [endpoint, access] = [atHome(asked, ["identityFile"], world), atHome(written, FILES, world)];
  const target = await resolveHost(endpoint, access, world);
  const { openSshTransport } = await import("./openssh.ts");
  if (access.transport !== "openssh") {
    const hops = [...(await jumpHosts(target, endpoint, access, world)), target];
    const reason = await firstReason(hops, world);
    if (reason === null) {
      const { ssh2Transport } = await import("./ssh2.ts");
      const connect = (access.connectSeconds ?? access.deadlineSeconds) * 1000;
      const library = ssh2Transport(hops, world, { deadline, connect });
      // Without an answer of ssh -G there is no such program here.
      return access.transport === "ssh2" || target.options.size === 0
        ? library
        : withBulk(library, openSshTransport({ endpoint, access, target }, world));
    }
    if (access.transport === "ssh2") {
      throw new UserError("TRANSPORT_UNFIT", `The ssh2 library cannot reach ${endpoint.host}: ${reason}`, {
        hint: "set transport: openssh, or auto, in the profile",
      });
    }
  }
  return openSshTransport({ endpoint, access, target }, world);
};

const FILES = ["sshConfig", "knownHosts"] as const;

/** With the home folder in these paths where they begin with a tilde. */
function atHome<Key extends string, Settings extends { readonly [name in Key]?: string | undefined }>(
  settings: Settings,
  keys: readonly Key[],
  { environment }: TransportWorld,
): Settings {
  const paths = keys.flatMap((key) => {
    const path = settings[key];
    return path === undefined ? [] : [[key, withHome(path, environment)] as const];
  });
  return { ...settings, ...Object.fromEntries(paths) };
}

// The program encrypts in a process of its own and in C: large uploads take it, nothing else does.
function withBulk(library: Transport, bulk: Transport): Transport {
  return {
    name: library.name,
    exec: async (argv, options) => library.exec(argv, options),
    bulk,
    close: async () => {
      await Promise.all([library.close(), bulk.close()]);
    },
  };
}

async function jumpHosts(
  target: ResolvedHost,
  endpoint: SshEndpoint,
  access: Access,
  world: TransportWorld,
): Promise<ResolvedHost[]> {
  const identity = endpoint.identityFile ? { identityFile: endpoint.identityFile } : {};
  return Promise.all(
    target.jump.map(async (hop) => resolveHost({ ...parseHop(hop), ...identity }, access, world)),
  );
}

async function firstReason(hops: readonly ResolvedHost[], world: TransportWorld): Promise<string | null> {
  for (const [index, hop] of hops.entries()) {
    const reason = await needsOpenSsh(hop, world);
    if (reason !== null) return index === hops.length - 1 ? reason : `${hop.alias}: ${reason}`;
  }
  return hops.length > 1 && hops[0]?.jump.length ? `${hops[0].alias} has jump hosts of its own` : null;
}
