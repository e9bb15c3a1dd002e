import { join } from "node:path";
import { parseJson, readIfExists, writeJson } from "../../core/files.ts";
import { canonicalJson, sha256 } from "../../core/hash.ts";
import { DatasetLock, SPLITS, type ShardEntry } from "../schema.ts";
import type { FileDigests } from "./file-digests.ts";
import type { Allowances } from "./allowances.ts";

/** What decides a pack. */
export interface PackStamp {
  readonly specDigest: string;
  readonly builder: string;
  readonly sourceStamp: string;
  readonly allow: Allowances;
}

export interface Claim {
  readonly lockPath: string;
  /** Says what the last pack on this machine was made from. */
  readonly receipt: string;
  readonly stamp: PackStamp;
  readonly digests: FileDigests;
  /** Folder of the shards. */
  readonly folder: string;
}

/** Writes down what the lock was made from. */
export const writeReceipt = async ({ receipt, stamp, lockPath }: Claim): Promise<void> =>
  writeJson(receipt, receiptOf(stamp, (await readIfExists(lockPath)) ?? ""));

/** The lock, when it was made here from exactly this spec and source and its shards are what it says. */
export const currentLock = async (claim: Claim): Promise<DatasetLock | undefined> => {
  const [receiptText, lockText] = [await readIfExists(claim.receipt), await readIfExists(claim.lockPath)];
  if (receiptText === undefined || lockText === undefined) return undefined;
  // Compared as text: a receipt of another version, or a torn one, is simply another receipt.
  const expected = receiptOf(claim.stamp, lockText);
  if (canonicalJson(jsonOrNull(receiptText)) !== canonicalJson(expected)) return undefined;
  const lock = parseJson(lockText, DatasetLock, claim.lockPath);
  for (const shard of shardsOf(lock)) {
    const digest = await claim.digests.of(join(claim.folder, shard.path));
    if (digest?.bytes !== shard.bytes || digest.sha256 !== shard.sha256) return undefined;
  }
  return lock;
};

/** All shards of a lock. */
export const shardsOf = (lock: DatasetLock): readonly ShardEntry[] =>
  SPLITS.flatMap((split) => lock.splits[split].shards);

const receiptOf = (stamp: PackStamp, lockText: string): object => ({
  schemaVersion: 2,
  ...stamp,
  lockSha256: sha256(lockText),
});

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
