import { homedir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import { runProgram } from "../../core/process.ts";
import type { SshAccess, SshEndpoint } from "../profile.ts";
import type { TransportWorld } from "./framed-transport.ts";

/** A host as ssh_config resolves it. */
export interface ResolvedHost {
  /** What the person wrote. */
  readonly alias: string;
  readonly hostName: string;
  readonly port: number;
  readonly user: string;
  readonly identityFiles: readonly string[];
  readonly identitiesOnly: boolean;
  /** Socket of the agent; null for none. */
  readonly agent: string | null;
  readonly knownHostsFiles: readonly string[];
  /** Name under which the key is recorded, where it is not the host's. */
  readonly hostKeyAlias: string | null;
  /** `[user@]host[:port]`, first one first. */
  readonly jump: readonly string[];
  /** Everything that was resolved, keys in lower case. */
  readonly options: ReadonlyMap<string, readonly string[]>;
}

type Hop = Pick<SshEndpoint, "host"> & Partial<SshEndpoint>;

/**
 * Resolves a host with `ssh -G`, which knows all of ssh_config; without the program from what the profile says alone.
 * UserErrors `SSH_CONFIG_INVALID`, `SSH_PROGRAM_MISSING` (a configuration is named that cannot be read without it).
 */
export const resolveHost = async (
  hop: Hop,
  access: SshAccess,
  world: TransportWorld,
): Promise<ResolvedHost> => {
  const asked = splitDestination(hop);
  const options = parseOptions((await askSsh(hop, access, world)) ?? "");
  const one = (name: string): string | undefined => options.get(name)?.[0];
  const home = homeOf(world.environment);
  const word = (path: string): string => withHome(path, world.environment);
  const jump = hop.jump?.length ? hop.jump.join(",") : none(one("proxyjump"));
  return {
    alias: hop.host,
    ...addressOf(asked, hop, options, world),
    identityFiles: identityFiles(hop, options, home).map(word),
    identitiesOnly: hop.identityFile !== undefined || one("identitiesonly") === "yes",
    agent: agentSocket(one("identityagent"), world.environment, word),
    knownHostsFiles: knownHostsFiles(access, options, home).map(word),
    hostKeyAlias: one("hostkeyalias") ?? null,
    jump: jump?.split(",") ?? [],
    options,
  };
};

const homeOf = (environment: TransportWorld["environment"]): string => environment["HOME"] ?? homedir();

/** A path of this machine with `~` at its beginning read as a shell reads it. */
export const withHome = (path: string, environment: TransportWorld["environment"]): string =>
  path.replace(/^~(?=\/|$)/, () => homeOf(environment));

function addressOf(
  asked: { readonly host: string; readonly user: string | undefined },
  hop: Hop,
  options: Options,
  world: TransportWorld,
): Pick<ResolvedHost, "hostName" | "port" | "user"> {
  const one = (name: string): string | undefined => options.get(name)?.[0];
  return {
    hostName: one("hostname") ?? asked.host,
    port: Number(one("port") ?? hop.port ?? 22),
    user: one("user") ?? asked.user ?? world.environment["USER"] ?? "root",
  };
}

type Options = ReadonlyMap<string, readonly string[]>;

function identityFiles(hop: Hop, options: Options, home: string): readonly string[] {
  if (hop.identityFile) return [hop.identityFile];
  return options.get("identityfile") ?? DEFAULT_KEYS.map((name) => join(home, ".ssh", name));
}

function knownHostsFiles(access: SshAccess, options: Options, home: string): string[] {
  const files = (name: string, otherwise: string): string[] =>
    options.get(name)?.[0]?.split(" ") ?? [otherwise];
  const own = access.knownHosts
    ? [access.knownHosts]
    : files("userknownhostsfile", join(home, ".ssh/known_hosts"));
  return [...own, ...files("globalknownhostsfile", "/etc/ssh/ssh_known_hosts")];
}

const DEFAULT_KEYS = ["id_ed25519", "id_ecdsa", "id_rsa"];

/** Options for both `ssh -G` and ssh itself that name the host, its configuration and its known keys. */
export const destinationArguments = (hop: Hop): string[] => {
  const { host, user } = splitDestination(hop);
  return [
    ...(user === undefined ? [] : ["-l", user]),
    ...(hop.port === undefined ? [] : ["-p", String(hop.port)]),
    ...(hop.jump?.length ? ["-J", hop.jump.join(",")] : []),
    "--",
    host,
  ];
};

/** `[user@]host[:port]` of a jump list. */
export const parseHop = (text: string): Hop => {
  const [, user, plain, bracketed, port] =
    /^(?:([^@]+)@)?(?:([^[\]:]+)|\[([^\]]+)\])(?::(\d+))?$/.exec(text) ?? [];
  const host = plain ?? bracketed;
  if (host === undefined) {
    throw new UserError("SSH_CONFIG_INVALID", `${text} is not a host to jump through`, {
      hint: "write it as [user@]host[:port]",
    });
  }
  return { host, ...(user ? { user } : {}), ...(port ? { port: Number(port) } : {}) };
};

/** Whether a text can stand in a line of ssh_config. */
export const isOneLine = (text: string): boolean => !/[\n\r\0]/.test(text);

function splitDestination(hop: Hop): { host: string; user: string | undefined } {
  const at = hop.host.lastIndexOf("@");
  const host = hop.host.slice(at + 1);
  if (host === "" || host.startsWith("-") || /[\s\0]/.test(host)) {
    throw new UserError("SSH_CONFIG_INVALID", `${JSON.stringify(hop.host)} is not the name of a host`);
  }
  return { host, user: hop.user ?? (at > 0 ? hop.host.slice(0, at) : undefined) };
}

async function askSsh(hop: Hop, access: SshAccess, world: TransportWorld): Promise<string | undefined> {
  const { sshConfig } = access;
  const config = sshConfig ? ["-F", sshConfig] : [];
  if (sshConfig !== undefined && !(await exists(sshConfig))) {
    throw new UserError(
      "SSH_CONFIG_INVALID",
      `There is no file ${sshConfig}, which the profile names as sshConfig`,
      { hint: "correct sshConfig: in the profile, or leave it out for ~/.ssh/config" },
    );
  }
  let result;
  try {
    result = await runProgram(["ssh", "-G", "-T", ...config, ...destinationArguments(hop)], {
      env: world.environment,
      timeout: access.deadlineSeconds * 1000,
    });
  } catch (error) {
    if (access.sshConfig === undefined) return undefined;
    throw new UserError("SSH_PROGRAM_MISSING", `Only the ssh program can read ${access.sshConfig}`, {
      hint: "install the OpenSSH client, or put host, user and port into the profile instead",
      cause: error,
    });
  }
  if (result.exitCode === 0) return result.stdout;
  throw new UserError("SSH_CONFIG_INVALID", `ssh cannot resolve ${hop.host}: ${result.stderr.trim()}`);
}

function parseOptions(text: string): Map<string, string[]> {
  const options = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const space = line.indexOf(" ");
    if (space === -1) continue;
    const name = line.slice(0, space).toLowerCase();
    options.set(name, [...(options.get(name) ?? []), line.slice(space + 1).trim()]);
  }
  return options;
}

const none = (value: string | undefined): string | undefined =>
  value === undefined || value === "none" ? undefined : value;

function agentSocket(
  configured: string | undefined,
  environment: TransportWorld["environment"],
  word: (path: string) => string,
): string | null {
  if (configured === "none") return null;
  if (configured === undefined || configured === "SSH_AUTH_SOCK") return environment["SSH_AUTH_SOCK"] ?? null;
  const variable = /^\$\{?(\w+)\}?$/.exec(configured)?.[1];
  return variable === undefined ? word(configured) : (environment[variable] ?? null);
}
