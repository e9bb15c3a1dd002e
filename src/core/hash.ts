import { createHash, hash as hashOf } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** Lower-case hexadecimal SHA-256 of bytes or UTF-8 text. */
export const sha256 = (data: Uint8Array | string): string => hashOf("sha256", data);

/** SHA-256 of a file, streamed. Rejects with the system error when it cannot be read. */
export const sha256File = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
};

/** JSON with keys sorted at every level and `undefined` left out: equal values give equal text. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value)) ?? "null";

/** SHA-256 of the canonical JSON of a value. */
export const digestOf = (value: unknown): string => sha256(canonicalJson(value));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
