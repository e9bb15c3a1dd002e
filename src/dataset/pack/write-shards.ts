import { readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { exists, readIfExists, writeJson } from "../../core/files.ts";
import { UserError } from "../../core/errors.ts";
import { Sha256, type ShardEntry } from "../schema.ts";
import { openCollector } from "../shard/collect.ts";
import { STAGED } from "../shard/write-shard.ts";
import type { Crew } from "./crew.ts";
import type { FileDigests } from "./file-digests.ts";
import type { ShardTask, Watch } from "./hand.ts";
import type { PlannedShard } from "./plan-shards.ts";
import type { Share } from "./share.ts";

const Finished = z.strictObject({ plan: Sha256, bytes: z.int().nonnegative(), sha256: Sha256 });
type Finished = z.infer<typeof Finished>;

export interface WriteWorld {
  /** Folder that shard paths are relative to. */
  readonly folder: string;
  readonly crew: Crew;
  readonly digests: FileDigests;
  readonly share: Share;
  readonly watch: Watch;
}

export interface Written {
  /** One per planned shard, in the same order; undefined where another share has not written it yet. */
  readonly entries: readonly (ShardEntry | undefined)[];
  /** How many were there already. */
  readonly reused: number;
}

/**
 * Second pass: writes each planned shard of this share, or keeps the one that was finished before, if its plan is the
 * same and its bytes are what they were. A receipt follows each shard, so that a killed run goes on where it was.
 */
export const writeShards = async (planned: readonly PlannedShard[], world: WriteWorld): Promise<Written> => {
  const entries: (ShardEntry | undefined)[] = planned.map(() => undefined);
  const open: { readonly shard: PlannedShard; readonly index: number }[] = [];
  for (const [index, shard] of planned.entries()) {
    world.watch.signal?.throwIfAborted();
    const finished = await finishedShard(shard, world);
    if (finished) {
      entries[index] = entryOf(shard, finished);
      world.watch.onDialogues(shard.entries.length);
    } else if (world.share.includes(index)) open.push({ shard, index });
  }
  // What the checks left behind would add to the row groups that the threads are about to hold.
  openCollector().everything();
  const reused = entries.filter((entry) => entry !== undefined).length;
  // The largest first: a thread that gets one of them last lets all others wait.
  const inOrder = open.toSorted((a, b) => b.shard.bytes - a.shard.bytes);
  await world.crew.each(inOrder, async ({ shard, index }, hand) => {
    const written = await hand.write(taskOf(shard), world.watch);
    const finished: Finished = { plan: shard.plan, ...written };
    await writeJson(receiptOf(shard.path, world.folder), finished);
    entries[index] = entryOf(shard, finished);
  });
  return { entries, reused };
};

const RECEIPTS = ".finished";

const receiptOf = (path: string, folder: string): string =>
  join(folder, RECEIPTS, `${basename(path, ".parquet")}.json`);

const entryOf = ({ path, entries }: PlannedShard, { bytes, sha256 }: Finished): ShardEntry => ({
  path,
  bytes,
  sha256,
  rows: entries.length,
});

// Of an entry a thread needs no more than where its dialogue stands, and what it must find there.
function taskOf({ path, entries }: PlannedShard): ShardTask {
  return {
    path,
    entries: entries.map(({ roleId, kind, place, contentSha256, fingerprint }) => ({
      roleId,
      kind,
      place,
      contentSha256,
      fingerprint,
    })),
  };
}

async function finishedShard(
  { path, plan }: PlannedShard,
  { folder, digests }: WriteWorld,
): Promise<Finished | undefined> {
  const finished = parsed(await readIfExists(receiptOf(path, folder)));
  if (finished?.plan !== plan) return undefined;
  const digest = await digests.of(join(folder, path));
  return digest?.bytes === finished.bytes && digest.sha256 === finished.sha256 ? finished : undefined;
}

/**
 * Looks once more whether every shard is the one that was written: a pack of another spec or source that runs at the same
 * time replaces and removes them. UserError `PACK_DISTURBED`.
 */
export const requireFinished = async (
  planned: readonly PlannedShard[],
  entries: readonly (ShardEntry | undefined)[],
  folder: string,
): Promise<void> => {
  for (const [index, { path, plan }] of planned.entries()) {
    const receipt = parsed(await readIfExists(receiptOf(path, folder)));
    const size = await stat(join(folder, path)).then(
      (found) => found.size,
      () => undefined,
    );
    if (receipt?.plan === plan && size === entries[index]?.bytes) continue;
    throw new UserError("PACK_DISTURBED", `${path} was replaced while this data set was being packed`, {
      hint: "is another pack of it running, of another spec or corpus? run the same command again when it has ended",
    });
  }
};

// Only saves work, so a receipt that cannot be read is passed over.
function parsed(text: string | undefined): Finished | undefined {
  try {
    return Finished.parse(JSON.parse(text ?? ""));
  } catch {
    return undefined;
  }
}

// An unfinished temporary file this old belongs to nobody that still runs.
const ABANDONED_MS = 3_600_000;

/**
 * Removes what is no part of the pack: shards of earlier plans, which a reader of `data/*` would take in, debris, and
 * Parquet files that nothing here made, whose names it returns.
 */
export const removeStrangers = async (
  folder: string,
  planned: readonly Pick<PlannedShard, "path">[],
  clock: Clock,
): Promise<readonly string[]> => {
  const wanted = new Set(planned.map(({ path }) => path));
  const names = await readdir(join(folder, "data")).catch(() => []);
  const foreign: string[] = [];
  for (const name of names) {
    const path = join(folder, "data", name);
    const isOld = async (): Promise<boolean> => (await stat(path)).mtimeMs < clock.now() - ABANDONED_MS;
    const isShard = name.endsWith(".parquet") && !wanted.has(`data/${name}`);
    if (isShard) {
      if (!(await exists(receiptOf(name, folder)))) foreign.push(`data/${name}`);
      await rm(receiptOf(name, folder), { force: true });
    }
    if (isShard || (name.endsWith(STAGED) && (await isOld()))) await rm(path, { force: true });
  }
  return foreign.toSorted();
};
