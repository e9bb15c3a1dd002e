import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** What a known_hosts file says in one line. */
interface KnownLine {
  readonly marker: "revoked" | "cert-authority" | null;
  readonly hosts: string;
  readonly type: string;
  readonly key: Buffer;
}

export type HostKeyVerdict =
  | { readonly outcome: "known" }
  /** Another key of the same kind is recorded, or this very one was revoked. */
  | { readonly outcome: "changed"; readonly known: readonly Buffer[] }
  | { readonly outcome: "revoked" }
  | { readonly outcome: "unknown" };

export interface KnownHosts {
  /** Names are as OpenSSH looks them up: `host`, or `[host]:port` where the port is not 22. */
  verdict(name: string, key: Buffer): HostKeyVerdict;
  /** Kinds of the keys recorded for a host, e.g. `ssh-ed25519`. */
  types(name: string): readonly string[];
  /** Keys recorded for a host. */
  keys(name: string): readonly { readonly type: string; readonly key: Buffer }[];
  /** Whether a certificate authority vouches for the host: its keys are not listed one by one then. */
  isCertified(name: string): boolean;
}

/** Parses the texts of known_hosts files: plain, hashed and patterned names, `@revoked` and `@cert-authority`. */
export const knownHosts = (texts: readonly string[]): KnownHosts => {
  const lines = texts.flatMap((text) => text.split("\n")).flatMap(parseLine);
  const plain = (name: string): KnownLine[] =>
    lines.filter((line) => line.marker === null && namesHost(line.hosts, name));
  return {
    verdict: (name, key) => {
      const isSame = (line: KnownLine): boolean => line.key.equals(key);
      if (lines.some((line) => line.marker === "revoked" && namesHost(line.hosts, name) && isSame(line))) {
        return { outcome: "revoked" };
      }
      const known = plain(name);
      if (known.some(isSame)) return { outcome: "known" };
      const type = keyType(key);
      const others = known.filter((line) => line.type === type);
      if (others.length > 0) return { outcome: "changed", known: others.map((line) => line.key) };
      // As OpenSSH does: any host whose keys are known and that shows a key of a new kind is another host.
      return known.length > 0
        ? { outcome: "changed", known: known.map((line) => line.key) }
        : { outcome: "unknown" };
    },
    types: (name) => [...new Set(plain(name).map((line) => line.type))],
    keys: (name) => plain(name).map(({ type, key }) => ({ type, key })),
    isCertified: (name) =>
      lines.some((line) => line.marker === "cert-authority" && namesHost(line.hosts, name)),
  };
};

/** `SHA256:…` as ssh-keygen prints it. */
export const fingerprint = (key: Buffer): string =>
  `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;

/** The name under which a host is recorded. */
export const knownName = (host: string, port: number): string =>
  port === 22 ? host.toLowerCase() : `[${host.toLowerCase()}]:${port}`;

/** Kind of a key in SSH's wire form, e.g. `ssh-ed25519`. */
export const keyType = (key: Buffer): string => {
  const length = key.length >= 4 ? key.readUInt32BE(0) : 0;
  return key.toString("latin1", 4, 4 + length);
};

function parseLine(text: string): KnownLine[] {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.startsWith("#")) return [];
  const words = trimmed.split(/\s+/);
  const marked = trimmed.startsWith("@") ? words.shift() : undefined;
  const marker = MARKERS.get(marked ?? "");
  const [hosts, type, encoded] = words;
  if (marker === undefined || hosts === undefined || type === undefined || encoded === undefined) return [];
  const key = Buffer.from(encoded, "base64");
  return keyType(key) === type ? [{ marker, hosts, type, key }] : [];
}

const MARKERS = new Map<string, KnownLine["marker"]>([
  ["", null],
  ["@revoked", "revoked"],
  ["@cert-authority", "cert-authority"],
]);

function namesHost(hosts: string, name: string): boolean {
  if (hosts.startsWith("|1|")) return isHashOf(hosts, name);
  const patterns = hosts.split(",");
  const isNamed = (pattern: string): boolean => wildcard(pattern.toLowerCase()).test(name);
  if (patterns.some((pattern) => pattern.startsWith("!") && isNamed(pattern.slice(1)))) return false;
  return patterns.some((pattern) => !pattern.startsWith("!") && isNamed(pattern));
}

// |1|SALT|HMAC-SHA1 of the name.
function isHashOf(hosts: string, name: string): boolean {
  const [, , salt = "", hash = ""] = hosts.split("|");
  const expected = Buffer.from(hash, "base64");
  const actual = createHmac("sha1", Buffer.from(salt, "base64")).update(name).digest();
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

function wildcard(pattern: string): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`);
}
