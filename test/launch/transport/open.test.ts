import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SshAccess, SshEndpoint } from "../../../src/launch/profile.ts";
import { openTransport } from "../../../src/launch/transport/index.ts";
import { parseHop, resolveHost } from "../../../src/launch/transport/ssh-config.ts";
import { realSuite } from "../../support/real-suite.ts";
import { world as outside } from "./ssh-bench.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const KERBEROS = { KRB5CCNAME: undefined };
const world = { ...outside, environment: { ...outside.environment, ...KERBEROS } };

realSuite("choosing a transport", { programs: ["ssh", "ssh-keygen"] }, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "understudy-choose-"));
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "key")]);
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "certified")]);
    writeFileSync(join(folder, "certified-cert.pub"), "ssh-ed25519-cert-v01@openssh.com AAAA\n");
    writeFileSync(join(folder, "token"), "");
    writeFileSync(join(folder, "token.pub"), "sk-ssh-ed25519@openssh.com AAAA\n");
  });
  afterAll(() => removeFolder(folder));

  const access = (config: string, more: Partial<SshAccess> = {}): SshAccess => {
    writeFileSync(join(folder, "config"), config);
    return {
      transport: "auto",
      sshConfig: join(folder, "config"),
      knownHosts: join(folder, "known_hosts"),
      deadlineSeconds: 10,
      ...more,
    };
  };
  const endpoint = (more: Partial<SshEndpoint> = {}): SshEndpoint => ({
    host: "login1",
    identityFile: join(folder, "key"),
    jump: [],
    ...more,
  });

  it.each([
    ["nothing special", ""],
    ["GSSAPI without a ticket", "Host *\n  GSSAPIAuthentication yes\n"],
    ["a jump host", "Host login1\n  ProxyJump gate\n"],
    ["a switched-off ProxyCommand", "Host *\n  ProxyCommand none\n"],
    ["ControlMaster without a path", "Host *\n  ControlMaster auto\n"],
  ])("takes the library for %s", async (_what, config) => {
    const transport = await openTransport(endpoint(), access(config), world);
    expect(transport.name).toMatch(/\(ssh2\)$/);
  });

  it.each([
    ["ProxyCommand", "Host *\n  ProxyCommand nc %h %p\n"],
    ["ControlPath", "Host *\n  ControlPath ~/.ssh/%C\n"],
    ["a certificate", "Host *\n  CertificateFile ~/.ssh/x-cert.pub\n"],
    ["a token", "Host *\n  PKCS11Provider /usr/lib/x.so\n"],
    ["passwords only", "Host *\n  PreferredAuthentications keyboard-interactive\n"],
    ["a jump host that needs it", "Host gate\n  ProxyCommand nc %h %p\nHost login1\n  ProxyJump gate\n"],
    ["a jump host with one of its own", "Host gate\n  ProxyJump outer\nHost login1\n  ProxyJump gate\n"],
  ])("takes the program for %s, and says why the library cannot", async (_what, config) => {
    const transport = await openTransport(endpoint(), access(config), world);
    expect(transport.name).toMatch(/\(openssh\)$/);
    const forced = openTransport(endpoint(), access(config, { transport: "ssh2" }), world);
    await expect(forced).rejects.toMatchObject({ code: "TRANSPORT_UNFIT" });
  });

  it.each(["auto", "openssh"] as const)(
    "reads ~ in its files as the home of who starts it (%s)",
    async (way) => {
      const written = access("Host login1\n  HostName 127.0.0.1\n  Port 9\n", {
        transport: way,
        sshConfig: "~/config",
        knownHosts: "~/known_hosts",
      });
      const there = { ...world, environment: { ...world.environment, HOME: folder } };
      const transport = await openTransport(endpoint({ identityFile: "~/key" }), written, there);
      expect(transport.name).toMatch(way === "auto" ? /\(ssh2\)$/ : /\(openssh\)$/);
      // Nobody listens there; a key that is not found, or another's file, would be another fault.
      expect(await transport.exec(["true"])).toMatchObject({ kind: "transport-error", code: "UNREACHABLE" });
      await transport.close();
    },
  );

  it.each(["certified", "token"])("takes the program for a key that is %s", async (key) => {
    const transport = await openTransport(endpoint({ identityFile: join(folder, key) }), access(""), world);
    expect(transport.name).toMatch(/\(openssh\)$/);
  });

  it("takes the program where a Kerberos ticket is there", async () => {
    const config = "Host *\n  GSSAPIAuthentication yes\n";
    const ticket = { ...world, environment: { ...world.environment, KRB5CCNAME: "FILE:/tmp/ticket" } };
    expect((await openTransport(endpoint(), access(config), ticket)).name).toMatch(/\(openssh\)$/);
  });

  it("takes the program where a certificate authority vouches for the host", async () => {
    const key = execFileSync("cut", ["-d", " ", "-f", "1,2", join(folder, "key.pub")], { encoding: "utf8" });
    writeFileSync(join(folder, "known_hosts"), `@cert-authority login* ${key}`);
    expect((await openTransport(endpoint(), access(""), world)).name).toMatch(/\(openssh\)$/);
    writeFileSync(join(folder, "known_hosts"), "");
  });

  it("does as it is told", async () => {
    const transport = await openTransport(endpoint(), access("", { transport: "openssh" }), world);
    expect(transport.name).toBe(`${process.env["USER"] ?? "root"}@login1 (openssh)`);
  });

  it("resolves a host by ssh_config and the profile, the profile first", async () => {
    const config =
      "Host login1\n  HostName l1.example\n  User alice\n  Port 2201\n  HostKeyAlias cluster\n  ProxyJump a,b@c:3\n  IdentityAgent none\n";
    const resolved = await resolveHost(endpoint(), access(config), world);
    expect(resolved).toMatchObject({
      hostName: "l1.example",
      user: "alice",
      port: 2201,
      hostKeyAlias: "cluster",
      jump: ["a", "b@c:3"],
      agent: null,
      identityFiles: [join(folder, "key")],
      identitiesOnly: true,
    });
    const told = endpoint({ host: "bob@login1", port: 7, jump: ["x"] });
    expect(await resolveHost(told, access(config), world)).toMatchObject({
      user: "bob",
      port: 7,
      jump: ["x"],
    });
  });

  it.each(["-oProxyCommand=touch x", "a b", "", "user@"])("refuses %j as a host", async (host) => {
    const opening = openTransport(endpoint({ host }), access(""), world);
    await expect(opening).rejects.toMatchObject({ code: "SSH_CONFIG_INVALID" });
  });

  it("says so when ssh_config cannot be read", async () => {
    const opening = openTransport(endpoint(), access("Nonsense yes\n"), world);
    await expect(opening).rejects.toMatchObject({ code: "SSH_CONFIG_INVALID" });
  });

  it("says so when a configuration is named and no program is there to read it", async () => {
    const bare = { ...world, environment: { PATH: folder } };
    await expect(openTransport(endpoint(), access(""), bare)).rejects.toMatchObject({
      code: "SSH_PROGRAM_MISSING",
    });
  });
});

describe("without the ssh program", () => {
  it("takes the library and what the profile says", async () => {
    const bare = { ...world, environment: { PATH: "/nowhere", HOME: "/home/nobody", USER: "carol" } };
    const access: SshAccess = { transport: "auto", deadlineSeconds: 10 };
    const transport = await openTransport({ host: "login1", jump: [] }, access, bare);
    expect(transport.name).toBe("carol@login1 (ssh2)");
  });
});

describe("parseHop", () => {
  it.each([
    ["gate", { host: "gate" }],
    ["bob@gate", { host: "gate", user: "bob" }],
    ["bob@gate:2222", { host: "gate", user: "bob", port: 2222 }],
    ["[::1]:22", { host: "::1", port: 22 }],
  ])("reads %s", (text, hop) => {
    expect(parseHop(text)).toEqual(hop);
  });

  it("refuses what is none", () => {
    expect(() => parseHop("a b:c")).toThrow("not a host to jump through");
  });
});
