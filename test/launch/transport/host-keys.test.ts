import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { makeKey, startSshd } from "../../real/sshd/sshd.ts";
import { realSuite } from "../../support/real-suite.ts";
import { bench, clean, KINDS, open, sshdLog, wordsOf } from "./fault-bench.ts";

const programs = ["sshd", "ssh", "ssh-keygen", "ssh-keyscan", "ssh-agent", "ssh-add"];

realSuite("keys of hosts and users", { programs, root: true }, () => {
  for (const kind of KINDS) {
    describe(kind, () => {
      it("refuses a host whose key has changed, before anything is sent", async () => {
        const made = await bench(kind);
        const { port } = made.sshd;
        const before = fingerprintOf(made.folder, "host-key");
        await made.sshd.stop();
        const other = await startSshd(made.folder, { port, newHostKey: true });
        clean.push(async () => other.stop());
        const outcome = await (await open(made)).exec(["true"]);
        expect(outcome).toMatchObject({ kind: "transport-error", started: "no", code: "HOST_KEY_CHANGED" });
        expect(wordsOf(outcome)).toContain(before);
        expect(wordsOf(outcome)).toContain(fingerprintOf(made.folder, "host-key-new"));
        expect(wordsOf(outcome)).toContain(`ssh-keygen -R '[127.0.0.1]:${port}'`);
        expect(sshdLog(made.folder, port)).not.toMatch(/publickey|understudy-test/);
      });

      it("refuses a host that is not known, and its advice helps", async () => {
        const made = await bench(kind);
        writeFileSync(join(made.folder, "known_hosts"), "");
        const transport = await open(made);
        const outcome = await transport.exec(["true"]);
        expect(outcome).toMatchObject({ kind: "transport-error", started: "no", code: "HOST_KEY_UNKNOWN" });
        expect(sshdLog(made.folder, made.sshd.port)).not.toMatch(/publickey|understudy-test/);
        const advice = /ssh-keyscan .*'$/.exec(
          (outcome.kind === "transport-error" && outcome.hint) || "",
        )?.[0];
        execFileSync("sh", ["-c", advice ?? "false"], { stdio: "ignore" });
        expect(await transport.exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
      });

      it("takes hashed names and refuses a revoked key", async () => {
        const made = await bench(kind);
        const file = join(made.folder, "known_hosts");
        execFileSync("ssh-keygen", ["-q", "-H", "-f", file], { stdio: "ignore" });
        expect(readFileSync(file, "utf8")).toMatch(/^\|1\|/);
        expect(await (await open(made)).exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
        writeFileSync(file, `${made.sshd.knownHosts}@revoked * ${made.sshd.hostKey}\n`);
        const outcome = await (await open(made)).exec(["true"]);
        expect(outcome).toMatchObject({ started: "no", code: "HOST_KEY_CHANGED" });
        expect(wordsOf(outcome)).toContain("revoked");
      });

      it("says so when the login is refused", async () => {
        const made = await bench(kind);
        const stranger = join(made.folder, "stranger");
        makeKey(stranger);
        const transport = await open(made, { endpoint: { identityFile: stranger } });
        expect(await transport.exec(["true"])).toMatchObject({ started: "no", code: "AUTH_FAILED" });
      });

      it("logs in with a key that only the agent can use", async () => {
        const made = await bench(kind);
        const locked = join(made.folder, "locked");
        makeKey(locked, "open sesame");
        writeFileSync(join(made.folder, "authorized_keys"), readFileSync(`${locked}.pub`));
        const refused = await (await open(made, { endpoint: { identityFile: locked } })).exec(["true"]);
        expect(refused).toMatchObject({ started: "no", code: "AUTH_FAILED" });
        const socket = await agentWith(made.folder, locked, "open sesame");
        writeFileSync(join(made.folder, "ssh_config"), `Host *\n  IdentityAgent ${socket}\n`);
        const transport = await open(made, { endpoint: { identityFile: locked } });
        expect(await transport.exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
      });
    });
  }
});

const fingerprintOf = (folder: string, key: string): string =>
  execFileSync("ssh-keygen", ["-l", "-f", join(folder, `${key}.pub`)], { encoding: "utf8" }).split(" ")[1] ??
  "";

async function agentWith(folder: string, key: string, passphrase: string): Promise<string> {
  const socket = join(folder, "agent");
  const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
  clean.push(() => void agent.kill());
  const ask = join(folder, "askpass");
  writeFileSync(ask, `#!/bin/sh\necho '${passphrase}'\n`, { mode: 0o755 });
  const environment = {
    ...process.env,
    SSH_AUTH_SOCK: socket,
    SSH_ASKPASS: ask,
    SSH_ASKPASS_REQUIRE: "force",
  };
  for (let tries = 0; tries < 50; tries += 1) {
    if (spawnSync("ssh-add", [key], { env: environment, stdio: "ignore" }).status === 0) return socket;
    await wait(100);
  }
  throw new Error("ssh-add did not add the key");
}
