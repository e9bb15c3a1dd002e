import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { FAR_USER, startSshd } from "../real/sshd/sshd.ts";
import { makeFarStage, profile } from "./start-support.ts";
import type { Stage } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

interface Far {
  readonly stage: Stage;
  readonly folder: string;
}

/** A stage with a profile `far`: a real sshd, whose user owns the shared folders. */
export const makeFar = async (): Promise<Far> => {
  const { stage } = await makeFarStage();
  const folder = mkdtempSync(join(tmpdir(), "understudy-far-"));
  onTestFinished(() => removeFolder(folder));
  chmodSync(folder, 0o755);
  const sshd = await startSshd(join(folder, "sshd"));
  onTestFinished(() => sshd.stop());
  for (const name of ["data", "models", "env", "runs", "tmp"]) {
    mkdirSync(join(folder, name));
    execFileSync("chown", [FAR_USER, join(folder, name)]);
  }
  writeFileSync(join(folder, "known_hosts"), sshd.knownHosts);
  writeFileSync(join(folder, "ssh_config"), "Host *\n  IdentityAgent none\n");
  const paths = ["data", "models", "env", "runs", "tmp"].map((name) => `${name}: ${join(folder, name)}`);
  profile(
    stage,
    "far",
    `kind: ssh\nhosts:\n  - { host: ${sshd.address}, port: ${sshd.port}, user: ${FAR_USER}, identityFile: ${sshd.key} }\n` +
      `knownHosts: ${join(folder, "known_hosts")}\nsshConfig: ${join(folder, "ssh_config")}\ndeadlineSeconds: 20\n` +
      `device: cpu\nprocesses: 1\npython: /usr/bin/python3\npaths: { ${paths.join(", ")} }\n`,
  );
  return { stage, folder };
};
