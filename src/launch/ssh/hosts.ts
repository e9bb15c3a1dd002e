import type { SshEndpoint } from "../profile.ts";
import { openTransport, type Transport, type TransportWorld } from "../transport/index.ts";
import type { SshProfile } from "./launcher.ts";

/** One machine out of the profile's list. */
export interface Host {
  /** As it stands in a `JobRef`: names one entry of the list. */
  readonly name: string;
  /** Opened when it is needed, and kept. Rejects with the RemoteError that says why it cannot be. */
  transport(): Promise<Transport>;
}

export interface Hosts {
  readonly all: readonly Host[];
  named(name: string): Host | undefined;
  close(): Promise<void>;
}

export type Open = (endpoint: SshEndpoint) => Promise<Transport>;

/** The hosts of a profile, in its order. Nothing is connected yet. */
export const hostsOf = (profile: SshProfile, world: TransportWorld, open?: Open): Hosts => {
  const opener: Open = open ?? (async (endpoint) => openTransport(endpoint, profile, world));
  const opened = new Map<string, Promise<Transport>>();
  const hosts = profile.hosts.map((endpoint): Host => {
    const name = hostName(endpoint);
    return {
      name,
      transport: async () => {
        const present = opened.get(name);
        if (present) return present;
        const opening = opener(endpoint);
        opened.set(name, opening);
        // The next call tries again.
        opening.catch(() => opened.delete(name));
        return opening;
      },
    };
  });
  return {
    all: hosts,
    named: (name) => hosts.find((host) => host.name === name),
    close: async () => {
      const transports = await Promise.allSettled(opened.values());
      opened.clear();
      await Promise.all(
        transports.map(async (outcome) =>
          outcome.status === "fulfilled" ? outcome.value.close() : undefined,
        ),
      );
    },
  };
};

/** e.g. `gpu1`, `trainer@gpu1:2222`: two entries of one machine by other ports or users are two hosts. */
export const hostName = ({ user, host, port }: SshEndpoint): string =>
  `${user === undefined ? "" : `${user}@`}${host}${port === undefined ? "" : `:${port}`}`;
