import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import type { Project } from "../../core/project.ts";
import { sha256 } from "../../core/hash.ts";
import type { DatasetCard } from "../card/card.ts";
import { lockFile, packedFolder } from "../places.ts";
import { readLock } from "../lock-file.ts";
import { openFileDigests } from "../pack/file-digests.ts";
import { SPLITS, type DatasetLock } from "../schema.ts";
import { FileBlob } from "./file-blob.ts";
import { SPEC_PATH, specToPublish } from "./published-spec.ts";
import { gitBlobOid, type RemoteFile } from "./remote-file.ts";

/** The lock's name in a repository: its presence says that everything it names is there. */
export const LOCK_PATH = "understudy.lock.json";
export const CARD_PATH = "README.md";

/** A file that a repository is to hold. */
export interface LocalFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Known for the small ones, which the Hub may keep in git itself. */
  readonly gitOid: string | null;
  readonly content: Blob;
}

export interface PushFiles {
  readonly lock: DatasetLock;
  readonly lockSha256: string;
  readonly shards: readonly LocalFile[];
  /** Spec, the card's drawings, lock and card, in this order: they go last. */
  readonly papers: readonly LocalFile[];
}

export interface VerifyOptions {
  readonly project: Project;
  readonly name: string;
  readonly card: (lock: DatasetLock) => Promise<DatasetCard>;
  readonly signal: AbortSignal | undefined;
  readonly onVerified: (bytes: number, total: number) => void;
}

/**
 * Everything that a push sends, and nothing else: the shards that the lock names, each compared with its SHA-256 there, the
 * spec whose digest it names, the lock as it lies on disk, and the card. A hash is taken again only when a file has changed since. UserErrors: of
 * `readLock`; `PUSH_REFUSED` for an entry that is no shard; `SHARD_MISSING`, `SHARD_CHANGED` with every difference.
 */
export const pushFiles = async ({
  project,
  name,
  card,
  signal,
  onVerified,
}: VerifyOptions): Promise<PushFiles> => {
  const lock = await readLock(project, name);
  requireShardsOnly(lock, name);
  const entries = SPLITS.flatMap((split) => lock.splits[split].shards);
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const digests = await openFileDigests(join(project.state, "datasets", "hub", `${name}.digests.json`));
  const folder = packedFolder(project, name);
  const shards: LocalFile[] = [];
  const faults: string[] = [];
  let verified = 0;
  for (const { path, bytes, sha256: wanted } of entries) {
    signal?.throwIfAborted();
    const file = join(folder, path);
    const content = (await exists(file)) ? await FileBlob.of(file) : undefined;
    const found = content && (await digests.of(file));
    if (!content || !found) faults.push(`  ${path} is not there`);
    else if (found.bytes !== bytes) faults.push(`  ${path} has ${found.bytes} bytes, not ${bytes}`);
    else if (found.sha256 !== wanted) faults.push(`  ${path} has SHA-256 ${found.sha256}, not ${wanted}`);
    else shards.push({ path, bytes, sha256: wanted, gitOid: await smallOid(content), content });
    verified += bytes;
    onVerified(verified, total);
  }
  await digests.save();
  if (faults.length > 0) throw shardFault(name, faults);
  const lockBytes = await readFile(lockFile(project, name));
  const spec = await specToPublish(project, lock);
  const { text, plots } = await card(lock);
  const papers = [
    ...(spec === undefined ? [] : [paper(SPEC_PATH, Buffer.from(spec))]),
    ...plots.map(({ path, svg }) => paper(path, Buffer.from(svg))),
    paper(LOCK_PATH, lockBytes),
    paper(CARD_PATH, Buffer.from(text)),
  ];
  return { lock, lockSha256: sha256(lockBytes), shards, papers };
};

/** True when the repository's file is this one. */
export const isSame = (file: LocalFile, remote: RemoteFile | undefined): boolean =>
  remote !== undefined &&
  remote.bytes === file.bytes &&
  (remote.sha256 === null
    ? remote.gitOid === file.gitOid && file.gitOid !== null
    : remote.sha256 === file.sha256);

// A repository may keep small files in git itself, and then knows them by this id only.
async function smallOid(content: Blob): Promise<string | null> {
  return content.size > REGULAR_MOST_BYTES ? null : gitBlobOid(new Uint8Array(await content.arrayBuffer()));
}

const REGULAR_MOST_BYTES = 10_000_000;

function paper(path: string, bytes: Uint8Array): LocalFile {
  const content = new Blob([new Uint8Array(bytes)]);
  return { path, bytes: content.size, sha256: sha256(bytes), gitOid: gitBlobOid(bytes), content };
}

// Reference clips, caches, notes: whatever else lies in the folder stays here, and a lock that names such is refused.
function requireShardsOnly(lock: DatasetLock, name: string): void {
  const strangers = SPLITS.flatMap((split) =>
    lock.splits[split].shards
      .map(({ path }) => path)
      .filter((path) => !new RegExp(`^data/${split}-\\d{5}-of-\\d{5}\\.parquet$`).test(path)),
  );
  if (strangers.length === 0) return;
  throw new UserError(
    "PUSH_REFUSED",
    `The lock of "${name}" names files that are no shards, and only shards are pushed:\n${strangers.map((path) => `  ${path}`).join("\n")}`,
    { hint: `pack it again: understudy dataset pack ${name}` },
  );
}

function shardFault(name: string, faults: readonly string[]): UserError {
  const missingOnly = faults.every((fault) => fault.endsWith("is not there"));
  return new UserError(
    missingOnly ? "SHARD_MISSING" : "SHARD_CHANGED",
    `The shards of "${name}" are not what its lock says; nothing was sent:\n${faults.join("\n")}`,
    { hint: `pack them again: understudy dataset pack ${name}` },
  );
}
