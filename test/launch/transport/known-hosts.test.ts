import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { fingerprint, keyType, knownHosts, knownName } from "../../../src/launch/transport/known-hosts.ts";
import { realSuite } from "../../support/real-suite.ts";
import { removeFolder } from "../../support/remove-folder.ts";

/** A key in SSH's wire form. */
const keyOf = (type: string, content: string): Buffer => {
  const field = (text: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([length, Buffer.from(text)]);
  };
  return Buffer.concat([field(type), field(content)]);
};
const [first, second, rsa] = [
  keyOf("ssh-ed25519", "one"),
  keyOf("ssh-ed25519", "two"),
  keyOf("ssh-rsa", "three"),
];
const line = (hosts: string, key: Buffer): string =>
  `${hosts} ${keyType(key)} ${key.toString("base64")} comment`;

describe("knownHosts", () => {
  it.each([
    ["a plain name", "login1", "login1"],
    ["one of several names", "login1,10.0.0.1", "10.0.0.1"],
    ["a name with a port", "[login1]:2222", "[login1]:2222"],
    ["a pattern", "*.cluster.example", "n1.cluster.example"],
    ["a pattern for one character", "login?", "login7"],
    ["a pattern with a port", "[*.example]:2222", "[a.example]:2222"],
    ["any case", "Login1", "login1"],
  ])("knows a host by %s", (_what, hosts, name) => {
    expect(knownHosts([line(hosts, first)]).verdict(name, first)).toEqual({ outcome: "known" });
  });

  it.each([
    ["another name", "login1", "login2"],
    ["the name without its port", "[login1]:2222", "login1"],
    ["the name with a port", "login1", "[login1]:2222"],
    ["a longer name", "login1", "login11"],
    ["a name in which a dot of the pattern is no dot", "a.b", "axb"],
    ["a name that is excluded", "*.example,!bad.example", "bad.example"],
  ])("does not know %s", (_what, hosts, name) => {
    expect(knownHosts([line(hosts, first)]).verdict(name, first)).toEqual({ outcome: "unknown" });
  });

  it("tells a changed key from an unknown host", () => {
    const known = knownHosts([line("login1", first)]);
    expect(known.verdict("login1", second)).toEqual({ outcome: "changed", known: [first] });
    // A key of another kind is no proof either.
    expect(known.verdict("login1", rsa)).toEqual({ outcome: "changed", known: [first] });
  });

  it("takes any of several keys, from several files", () => {
    const known = knownHosts([line("login1", first), `${line("login1", second)}\n${line("login1", rsa)}`]);
    for (const key of [first, second, rsa])
      expect(known.verdict("login1", key)).toEqual({ outcome: "known" });
    expect(known.types("login1")).toEqual(["ssh-ed25519", "ssh-rsa"]);
  });

  it("refuses a revoked key, even where it is recorded", () => {
    const known = knownHosts([`${line("login1", first)}\n@revoked ${line("*", first)}`]);
    expect(known.verdict("login1", first)).toEqual({ outcome: "revoked" });
  });

  it("sees that a certificate authority vouches for a host", () => {
    const known = knownHosts([`@cert-authority ${line("*.example", first)}`]);
    expect(known.isCertified("a.example")).toBe(true);
    expect(known.isCertified("login1")).toBe(false);
    // The authority's key is no host key.
    expect(known.verdict("a.example", first)).toEqual({ outcome: "unknown" });
  });

  it("leaves out what it cannot read", () => {
    const texts = [
      "# comment",
      "",
      "login1",
      "login1 ssh-ed25519",
      "login1 ssh-rsa AAAA",
      `@new ${line("login1", first)}`,
    ];
    expect(knownHosts([texts.join("\n")]).verdict("login1", first)).toEqual({ outcome: "unknown" });
  });

  it("names hosts as they are recorded", () => {
    expect(knownName("Login1", 22)).toBe("login1");
    expect(knownName("login1", 2222)).toBe("[login1]:2222");
  });
});

realSuite("known_hosts of ssh-keygen", { programs: ["ssh-keygen"] }, () => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-known-"));
  afterAll(() => removeFolder(folder));

  it("reads hashed names and prints the same fingerprints", () => {
    execFileSync("ssh-keygen", ["-q", "-t", "ecdsa", "-N", "", "-f", join(folder, "key")]);
    const [type = "", encoded = ""] = readFileSync(join(folder, "key.pub"), "utf8").split(" ");
    const file = join(folder, "known_hosts");
    writeFileSync(file, `login1 ${type} ${encoded}\n[login2]:2222 ${type} ${encoded}\n`);
    execFileSync("ssh-keygen", ["-q", "-H", "-f", file], { stdio: "ignore" });
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain("login");
    const key = Buffer.from(encoded, "base64");
    const known = knownHosts([text]);
    expect(known.verdict("login1", key)).toEqual({ outcome: "known" });
    expect(known.verdict("[login2]:2222", key)).toEqual({ outcome: "known" });
    expect(known.verdict("login2", key)).toEqual({ outcome: "unknown" });
    const shown = execFileSync("ssh-keygen", ["-l", "-f", join(folder, "key.pub")], { encoding: "utf8" });
    expect(shown).toContain(fingerprint(key));
  });
});
