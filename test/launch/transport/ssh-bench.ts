import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import type { SshAccess, SshEndpoint } from "../../../src/launch/profile.ts";
import type { TransportWorld } from "../../../src/launch/transport/index.ts";
import { FAR_USER, startSshd, type Sshd, type SshdOptions } from "../../real/sshd/sshd.ts";
import { removeFolder } from "../../support/remove-folder.ts";

export const world: TransportWorld = { clock: systemClock, environment: process.env };

export interface SshBench {
  readonly folder: string;
  readonly sshd: Sshd;
  readonly endpoint: SshEndpoint;
  readonly access: SshAccess;
  remove(): Promise<void>;
}

/** A folder of this test with a sshd in it, and how to reach it. Nothing of the person's own ~/.ssh is used. */
export const sshBench = async (
  transport: SshAccess["transport"],
  options: SshdOptions = {},
): Promise<SshBench> => {
  const folder = mkdtempSync("/tmp/understudy-ssh-");
  const sshd = await startSshd(folder, options);
  writeFileSync(join(folder, "known_hosts"), sshd.knownHosts);
  writeFileSync(join(folder, "ssh_config"), "Host *\n  IdentityAgent none\n");
  return {
    folder,
    sshd,
    endpoint: { host: sshd.address, port: sshd.port, user: FAR_USER, identityFile: sshd.key, jump: [] },
    access: {
      transport,
      sshConfig: join(folder, "ssh_config"),
      knownHosts: join(folder, "known_hosts"),
      deadlineSeconds: 20,
    },
    remove: async () => {
      await sshd.stop();
      removeFolder(folder);
    },
  };
};

/** The place of {@link FarPlace} on a bench. */
export const placeOn = (bench: SshBench): { readonly far: string; readonly here: string } => {
  const [far, here] = [join(bench.folder, "far"), join(bench.folder, "here")];
  mkdirSync(here);
  mkdirSync(far);
  chmodSync(far, 0o777);
  // What tests make there is for the far user too.
  process.umask(0);
  return { far, here };
};
