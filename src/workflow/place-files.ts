import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { readIfExists } from "../core/files.ts";
import { sha256 } from "../core/hash.ts";
import type { ShardEntry } from "../dataset/index.ts";
import { lockNames } from "../launch/index.ts";
import { payloadFiles } from "./payload-digest.ts";
import type { KnownFile } from "./place.ts";

/** A shard as its data set's lock knows it. */
export const knownShard = ({ path, bytes, sha256: digest }: ShardEntry): KnownFile => ({
  path,
  bytes,
  sha256: digest,
});

/** The files of a payload with their digests. */
export const filesOf = async (folder: string): Promise<readonly KnownFile[]> =>
  Promise.all(
    (await payloadFiles(folder)).map(async (path) => {
      const file = join(folder, path);
      return { path, bytes: (await stat(file)).size, sha256: sha256(await readFile(file)) };
    }),
  );

/** Text of the payload's lock files by name. */
export const locksOf = async (folder: string): Promise<Readonly<Record<string, string>>> => {
  const texts = lockNames("cuda").map(async (name): Promise<[string, string]> => [
    name,
    (await readIfExists(join(folder, name))) ?? "",
  ]);
  return Object.fromEntries(await Promise.all(texts));
};
