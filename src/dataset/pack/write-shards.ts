import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { InternalError, UserError } from "../../core/errors.ts";
import { appendJsonLine, readIfExists, writeAtomic } from "../../core/files.ts";
import { Sha256, type DatasetSpec, type Dialogue, type RoleEntry, type ShardEntry } from "../schema.ts";
import { STAGED, writeShard } from "../shard/write-shard.ts";
import type { DialogueSource } from "../source/source.ts";
import { assemble, type Assembler } from "./assemble.ts";
import type { FileDigests } from "./file-digests.ts";
import type { PlannedShard } from "./plan-shards.ts";
import type { Entry } from "./survey.ts";

const Finished = z.strictObject({
  path: z.string(),
  plan: Sha256,
  bytes: z.int().nonnegative(),
  sha256: Sha256,
});
type Finished = z.infer<typeof Finished>;

export interface WriteWorld {
  /** Folder that shard paths are relative to. */
  readonly folder: string;
  readonly source: DialogueSource;
  readonly assembler: Assembler;
  readonly digests: FileDigests;
  readonly settings: DatasetSpec["shards"];
  readonly onRows: (rows: number) => void;
  readonly signal: AbortSignal | undefined;
}

export interface Written {
  /** One per planned shard, in the same order. */
  readonly entries: readonly ShardEntry[];
  /** How many were there already. */
  readonly reused: number;
}

/**
 * Second pass: writes each planned shard, or keeps the one that an earlier run finished, if its plan is the same and
 * its bytes are what they were. A journal line follows each shard, so that a killed run goes on where it was.
 */
export const writeShards = async (planned: readonly PlannedShard[], world: WriteWorld): Promise<Written> => {
  const journal = join(world.folder, "journal.jsonl");
  const finished = await readJournal(journal);
  const kept: Finished[] = [];
  let reused = 0;
  for (const shard of planned) {
    world.signal?.throwIfAborted();
    const earlier = finished.find(({ path, plan }) => path === shard.path && plan === shard.plan);
    if (earlier && (await isIntact(earlier, world))) {
      kept.push(earlier);
      reused++;
      world.onRows(shard.entries.length);
      continue;
    }
    const path = join(world.folder, shard.path);
    await writeShard(path, rowsOf(shard.entries, world), world.settings);
    const digest = await world.digests.of(path);
    if (!digest) throw new InternalError("SHARD_VANISHED", `${path} is gone right after it was written`);
    const entry: Finished = { path: shard.path, plan: shard.plan, ...digest };
    await appendJsonLine(journal, entry);
    kept.push(entry);
  }
  await writeAtomic(journal, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  return {
    entries: kept.map(({ path, bytes, sha256 }, index) => ({
      path,
      bytes,
      sha256,
      rows: planned[index]?.entries.length ?? 0,
    })),
    reused,
  };
};

// An unfinished temporary file this old belongs to nobody that still runs.
const ABANDONED_MS = 3_600_000;

/** Removes what is no part of the pack: shards of earlier plans, which a reader of `data/*` would take in, and debris. */
export const removeStrangers = async (
  folder: string,
  planned: readonly PlannedShard[],
  clock: Clock,
): Promise<void> => {
  const wanted = new Set(planned.map(({ path }) => path));
  const names = await readdir(join(folder, "data")).catch(() => []);
  for (const name of names) {
    const path = join(folder, "data", name);
    const isOld = async (): Promise<boolean> => (await stat(path)).mtimeMs < clock.now() - ABANDONED_MS;
    const isShard = name.endsWith(".parquet") && !wanted.has(`data/${name}`);
    if (isShard || (name.endsWith(STAGED) && (await isOld()))) await rm(path, { force: true });
  }
};

async function* rowsOf(entries: readonly Entry[], world: WriteWorld): AsyncGenerator<Dialogue> {
  const roles = new Map<string, RoleEntry>(world.source.roles.map((role) => [role.slug, role]));
  for (const entry of entries) {
    world.signal?.throwIfAborted();
    const role = roles.get(entry.roleId);
    if (!role) throw new InternalError("ROLE_VANISHED", `${entry.roleId} is no role of the source`);
    const found = { role, kind: entry.kind, place: entry.place };
    const draft = await world.source.read(found);
    const result = await assemble({ role, kind: entry.kind, draft }, world.assembler);
    if (result.outcome === "bad-clip" || result.dialogue.contentSha256 !== entry.contentSha256) {
      throw new UserError("SOURCE_CHANGED", `${entry.place.file} changed while it was being packed`, {
        hint: "run the same command again when nothing writes to the corpus any more",
      });
    }
    yield result.dialogue;
    world.onRows(1);
  }
}

async function isIntact(
  { path, bytes, sha256 }: Finished,
  { folder, digests }: WriteWorld,
): Promise<boolean> {
  const digest = await digests.of(join(folder, path));
  return digest?.bytes === bytes && digest.sha256 === sha256;
}

// Only saves work, so a line that a killed run left half written is passed over.
async function readJournal(path: string): Promise<Finished[]> {
  const lines = ((await readIfExists(path)) ?? "").split("\n");
  return lines.flatMap((line) => {
    try {
      return [Finished.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}
