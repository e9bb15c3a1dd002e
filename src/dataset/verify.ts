import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../core/errors.ts";
import type { Project } from "../core/project.ts";
import { packedFolder } from "./places.ts";
import { readLock } from "./lock-file.ts";
import { openFileDigests, type FileDigests } from "./pack/file-digests.ts";
import { SPLITS, type DatasetLock, type ShardEntry } from "./schema.ts";

export interface VerifyOptions {
  /** Read every shard, whatever is known of it. Default: only those that are not known as they are now. */
  readonly full?: boolean;
  readonly signal?: AbortSignal;
  /** Told before each shard that has to be read. */
  readonly onHash?: (shard: { readonly path: string; readonly bytes: number }) => void;
}

// What has been read up to here is not read again after a kill.
const SAVED_EVERY = 2e9;

/**
 * Compares every shard with the lock and returns the lock. A shard is read once; its digest, kept in the state folder, then counts
 * for as long as size, times (nanoseconds) and inode stay the same. UserErrors: of `readLock`; `SHARD_CHANGED` or, when all
 * that is wrong is that shards are not there, `SHARD_MISSING`; each lists every difference.
 */
export const verifyDataset = async (
  project: Project,
  name: string,
  options: VerifyOptions = {},
): Promise<DatasetLock> => {
  const lock = await readLock(project, name);
  const folder = packedFolder(project, name);
  const shards = SPLITS.flatMap((split) => lock.splits[split].shards);
  const faults = await compareShards(project, { name, folder, shards }, options);
  const missing = faults.filter((fault) => fault?.kind === "missing");
  const changed = faults.filter((fault) => fault?.kind === "changed");
  const foreign = await foreignShards(folder, shards);
  if (missing.length + changed.length + foreign.length === 0) return lock;
  const lines = [...changed, ...missing].map((fault) => `  ${fault?.text}`);
  throw new UserError(
    changed.length + foreign.length > 0 ? "SHARD_CHANGED" : "SHARD_MISSING",
    `The shards of "${name}" are not what its lock says:\n${[...lines, ...foreign].join("\n")}`,
    { hint: hintOf(name, folder, { isBroken: missing.length + changed.length > 0, foreign }) },
  );
};

async function compareShards(
  project: Project,
  {
    name,
    folder,
    shards,
  }: { readonly name: string; readonly folder: string; readonly shards: readonly ShardEntry[] },
  { full = false, signal, onHash }: VerifyOptions,
): Promise<readonly (Fault | undefined)[]> {
  const memory = join(project.state, "datasets", `${name}.shards.json`);
  if (full) await rm(memory, { force: true });
  const digests = await openFileDigests(memory);
  // Only a memory: a state folder that cannot be written costs time, not the start.
  const save = async (): Promise<void> => digests.save().catch(() => undefined);
  const faults: (Fault | undefined)[] = [];
  let unsaved = 0;
  try {
    for (const shard of shards) {
      signal?.throwIfAborted();
      const isRead = !(await digests.isKnown(join(folder, shard.path)));
      if (isRead) onHash?.(shard);
      faults.push(await faultOf(folder, shard, digests));
      unsaved += isRead ? shard.bytes : 0;
      if (unsaved < SAVED_EVERY) continue;
      unsaved = 0;
      await save();
    }
  } finally {
    await save();
  }
  return faults;
}

// Packing anew would not bring back what somebody put there.
function hintOf(
  name: string,
  folder: string,
  { isBroken, foreign }: { readonly isBroken: boolean; readonly foreign: readonly string[] },
): string {
  const pack = `understudy dataset pack ${name}`;
  const what = foreign.length === 1 ? "it" : "them";
  const move = `move what is not in the lock out of ${join(folder, "data")}, or delete ${what}`;
  if (foreign.length === 0) return `pack them again: ${pack}`;
  return isBroken
    ? `${move}, and pack the others again: ${pack} (it deletes ${what} too)`
    : `${move}; ${pack} deletes ${what}`;
}

interface Fault {
  readonly kind: "missing" | "changed";
  readonly text: string;
}

async function faultOf(
  folder: string,
  { path, bytes, sha256 }: ShardEntry,
  digests: FileDigests,
): Promise<Fault | undefined> {
  const file = join(folder, path);
  try {
    const { size } = await stat(file);
    if (size !== bytes) return { kind: "changed", text: `${path} has ${size} bytes, not ${bytes}` };
    const found = (await digests.of(file))?.sha256;
    if (found === sha256) return undefined;
    if (found !== undefined) return { kind: "changed", text: `${path} has SHA-256 ${found}, not ${sha256}` };
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
  return { kind: "missing", text: `${path} is not there` };
}

// A reader of data/* would take these in.
async function foreignShards(folder: string, shards: readonly ShardEntry[]): Promise<readonly string[]> {
  const wanted = new Set(shards.map(({ path }) => path));
  const names = await readdir(join(folder, "data")).catch(() => []);
  return names
    .filter((name) => name.endsWith(".parquet") && !wanted.has(`data/${name}`))
    .toSorted()
    .map((name) => `  data/${name} is not in the lock`);
}
