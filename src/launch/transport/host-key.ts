import { readIfExists } from "../../core/files.ts";
import type { ChannelEnd } from "./channel.ts";
import { fingerprint, keyType, knownHosts, knownName, type KnownHosts } from "./known-hosts.ts";
import type { ResolvedHost } from "./ssh-config.ts";

/** The keys that are recorded for one host, and what to say about one that is not. */
export interface HostKeys {
  readonly known: KnownHosts;
  /** As the host is recorded: `host` or `[host]:port`. */
  readonly name: string;
  readonly file: string;
  readonly host: ResolvedHost;
}

export const readHostKeys = async (host: ResolvedHost): Promise<HostKeys> => {
  const texts = await Promise.all(host.knownHostsFiles.map(readIfExists));
  return {
    known: knownHosts(texts.map((text) => text ?? "")),
    name: host.hostKeyAlias ?? knownName(host.hostName, host.port),
    file: host.knownHostsFiles[0] ?? "known_hosts",
    host,
  };
};

/** Undefined when the key is the recorded one. Decided before anything but the key exchange is sent. */
export const refusalOf = (keys: HostKeys, key: Buffer): ChannelEnd | undefined => {
  const verdict = keys.known.verdict(keys.name, key);
  switch (verdict.outcome) {
    case "known":
      return undefined;
    case "revoked":
      return {
        code: "HOST_KEY_CHANGED",
        reason: `the key of ${keys.name} is marked as revoked (${fingerprint(key)} in ${keys.file})`,
        hint: "do not connect; ask who runs that machine for its new key",
      };
    case "changed":
      return keyChanged(keys, fingerprint(key));
    case "unknown":
      // Recorded under its bare name: OpenSSH takes that for any port.
      if (keys.host.hostKeyAlias === null && keys.host.port !== 22) {
        const bare = keys.known.verdict(knownName(keys.host.hostName, 22), key);
        if (bare.outcome === "known") return undefined;
      }
      return keyUnknown(keys, `${keyType(key)} ${fingerprint(key)}`);
    default:
      return verdict;
  }
};

export const keyChanged = (keys: HostKeys, shown: string): ChannelEnd => {
  const recorded = keys.known.keys(keys.name).map(({ type, key }) => `${type} ${fingerprint(key)}`);
  return {
    code: "HOST_KEY_CHANGED",
    reason: `the key of ${keys.name} has changed: it shows ${shown}, but ${keys.file} has ${recorded.join(", ") || "another one"}`,
    hint: `someone may be listening in. When whoever runs that machine confirms the new key: ssh-keygen -R '${keys.name}' -f '${keys.file}', then record it`,
  };
};

export const keyUnknown = (keys: HostKeys, shown: string): ChannelEnd => {
  const { port, hostName } = keys.host;
  const portOption = port === 22 ? "" : `-p ${port} `;
  const through = keys.host.jump.length > 0 ? " (run it on the machine before it)" : "";
  return {
    code: "HOST_KEY_UNKNOWN",
    reason: `the key of ${keys.name} is not in ${keys.file}: it shows ${shown}`,
    hint: `compare it with what whoever runs that machine says, then: ssh-keyscan ${portOption}${hostName} >> '${keys.file}'${through}`,
  };
};
