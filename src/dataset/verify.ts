import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../core/errors.ts";
import { sha256File } from "../core/hash.ts";
import type { Project } from "../core/project.ts";
import { packedFolder } from "./load-spec.ts";
import { readLock } from "./lock-file.ts";
import { SPLITS, type DatasetLock, type ShardEntry } from "./schema.ts";

/**
 * Hashes every shard against the lock and returns the lock. UserErrors: of `readLock`; `SHARD_CHANGED` or, when all
 * that is wrong is that shards are not there, `SHARD_MISSING`; each lists every difference.
 */
export const verifyDataset = async (project: Project, name: string): Promise<DatasetLock> => {
  const lock = await readLock(project, name);
  const folder = packedFolder(project, name);
  const shards = SPLITS.flatMap((split) => lock.splits[split].shards);
  const faults: (Fault | undefined)[] = [];
  for (const shard of shards) faults.push(await faultOf(folder, shard));
  const missing = faults.filter((fault) => fault?.kind === "missing");
  const changed = faults.filter((fault) => fault?.kind === "changed");
  const foreign = await foreignShards(folder, shards);
  if (missing.length + changed.length + foreign.length === 0) return lock;
  const lines = [...changed, ...missing].map((fault) => `  ${fault?.text}`);
  throw new UserError(
    changed.length + foreign.length > 0 ? "SHARD_CHANGED" : "SHARD_MISSING",
    `The shards of "${name}" are not what its lock says:\n${[...lines, ...foreign].join("\n")}`,
    { hint: `pack them again: understudy dataset pack ${name}` },
  );
};

interface Fault {
  readonly kind: "missing" | "changed";
  readonly text: string;
}

async function faultOf(folder: string, { path, bytes, sha256 }: ShardEntry): Promise<Fault | undefined> {
  const file = join(folder, path);
  try {
    const { size } = await stat(file);
    if (size !== bytes) return { kind: "changed", text: `${path} has ${size} bytes, not ${bytes}` };
    const found = await sha256File(file);
    if (found === sha256) return undefined;
    return { kind: "changed", text: `${path} has SHA-256 ${found}, not ${sha256}` };
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    return { kind: "missing", text: `${path} is not there` };
  }
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
