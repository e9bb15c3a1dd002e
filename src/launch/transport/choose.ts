import { userInfo } from "node:os";
import { exists, readIfExists } from "../../core/files.ts";
import type { TransportWorld } from "./framed-transport.ts";
import { readHostKeys } from "./host-key.ts";
import type { ResolvedHost } from "./ssh-config.ts";

/** Why a host can be reached by the OpenSSH program only; null when the ssh2 library does as well. */
export const needsOpenSsh = async (host: ResolvedHost, world: TransportWorld): Promise<string | null> => {
  const set = (name: string): string | undefined => {
    const value = host.options.get(name)?.[0];
    return value === undefined || value === "none" || value === "no" || value === "false" ? undefined : value;
  };
  const named = ONLY_OPENSSH.find(([option]) => set(option) !== undefined);
  if (named) return named[1];
  const preferred = set("preferredauthentications");
  if (preferred !== undefined && !preferred.split(",").includes("publickey"))
    return "it is not entered with a key";
  if (set("gssapiauthentication") && (await hasTicket(world))) return "a Kerberos ticket is there for it";
  for (const path of host.identityFiles) {
    if (await exists(`${path}-cert.pub`)) return "its key has a certificate";
    if ((await readIfExists(`${path}.pub`))?.startsWith("sk-") ?? false)
      return "its key lives in a security token";
  }
  const keys = await readHostKeys(host);
  if (keys.known.isCertified(keys.name)) return "a certificate authority vouches for its key";
  return null;
};

const ONLY_OPENSSH: readonly (readonly [string, string])[] = [
  ["proxycommand", "ssh_config has a ProxyCommand for it"],
  ["controlpath", "ssh_config shares connections to it (ControlPath), perhaps for a second factor"],
  ["certificatefile", "ssh_config names a certificate for it"],
  ["pkcs11provider", "its key lives in a token"],
  ["hostbasedauthentication", "ssh_config asks for host-based authentication"],
  ["knownhostscommand", "ssh_config has a KnownHostsCommand for it"],
  ["revokedhostkeys", "ssh_config names a list of revoked keys"],
];

// Some distributions ask for GSSAPI for every host: it counts only where there is a ticket.
async function hasTicket({ environment }: TransportWorld): Promise<boolean> {
  return environment["KRB5CCNAME"] !== undefined || (await exists(`/tmp/krb5cc_${userInfo().uid}`));
}
