import { join } from "node:path";
import { clipReader } from "../../audio/index.ts";
import { systemClock, type Clock } from "../../core/clock.ts";
import { UserError } from "../../core/errors.ts";
import { parseJson, readIfExists, writeJson } from "../../core/files.ts";
import { canonicalJson, sha256 } from "../../core/hash.ts";
import type { Project } from "../../core/project.ts";
import { loadSpec, lockFile, packedFolder, type LoadedSpec } from "../load-spec.ts";
import { DatasetLock, SPLITS, type ShardEntry, type Split } from "../schema.ts";
import { openRelease } from "../source/release.ts";
import type { DialogueSource } from "../source/source.ts";
import { openFileDigests, treeDigest, type FileDigests } from "./file-digests.ts";
import { checkGates, heldOutStems, requireGates } from "./gates.ts";
import { BUILDER, lockOf } from "./lock.ts";
import { planShards } from "./plan-shards.ts";
import { splitEntries } from "./split.ts";
import { survey } from "./survey.ts";
import { removeStrangers, writeShards } from "./write-shards.ts";

/** `check` reads and judges dialogues, their number not yet known; `write` writes rows. */
export interface PackProgress {
  readonly phase: "check" | "write";
  readonly done: number;
  readonly total: number | null;
}

export interface PackOptions {
  readonly project: Project;
  /** Name of the data set: datasets/NAME.yaml. */
  readonly name: string;
  readonly onProgress?: (progress: PackProgress) => void;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface PackResult {
  readonly lock: DatasetLock;
  readonly lockPath: string;
  /** Nothing had changed since the last pack, so nothing was done. */
  readonly reused: boolean;
  /** Shards that an earlier, unfinished or different pack had made already. */
  readonly shardsReused: number;
  /** There was a lock before, and it said something else. */
  readonly lockChanged: boolean;
}

/**
 * Packs a data set: checks every dialogue, divides them, and writes Parquet shards and, last, the lock. The same source
 * and spec give the same bytes. Memory holds one row group and a short entry per dialogue. Killed at any point, the
 * same command goes on after the last finished shard; when nothing changed it returns at once.
 * UserErrors: of the spec (`DATASET_UNKNOWN`, `SPEC_INVALID`, …), of the source (`SOURCE_MISSING`, `SOURCE_JSON_INVALID`,
 * `ROLES_INVALID`, `SLUG_COLLISION`, `CLIP_BAD`, `SOURCE_CHANGED`), `GATE_VIOLATED`, `DISK_FULL`.
 */
export const packDataset = async (options: PackOptions): Promise<PackResult> => {
  const { project, name, signal } = options;
  const loaded = await loadSpec(project, name);
  const source = await openRelease(loaded.spec.source, loaded.sourceFolder);
  const digests = await openFileDigests(join(project.state, "datasets", `${name}.files.json`));
  const digestSource = async (): Promise<string> => treeDigest(source.folder, digests, signal);
  const sourceDigest = await digestSource();
  const lockPath = lockFile(project, name);
  const receipt = join(project.state, "datasets", `${name}.packed.json`);
  const stamp = { specDigest: loaded.digest, builder: BUILDER, sourceDigest };
  const current = await currentLock({
    lockPath,
    receipt,
    stamp,
    digests,
    folder: packedFolder(project, name),
  });
  if (current) {
    await digests.save();
    return {
      lock: current,
      lockPath,
      reused: true,
      shardsReused: shardsOf(current).length,
      lockChanged: false,
    };
  }
  const { lock, shardsReused } = await build(loaded, source, { options, digests });
  if ((await digestSource()) !== sourceDigest)
    throw new UserError(
      "SOURCE_CHANGED",
      `The corpus in ${loaded.sourceFolder} changed while it was being packed`,
      {
        hint: "run the same command again when nothing writes to it any more",
      },
    );
  const before = await readIfExists(lockPath);
  await writeJson(lockPath, lock);
  const after = (await readIfExists(lockPath)) ?? "";
  await writeJson(receipt, receiptOf(stamp, after));
  await digests.save();
  const lockChanged = before !== undefined && before !== after;
  return { lock, lockPath, reused: false, shardsReused, lockChanged };
};

/** What a pack on this machine was made from, and what it made. */
interface Receipt {
  readonly schemaVersion: 1;
  readonly specDigest: string;
  readonly builder: string;
  readonly sourceDigest: string;
  readonly lockSha256: string;
}

const receiptOf = (stamp: Claim["stamp"], lockText: string): Receipt => ({
  schemaVersion: 1,
  ...stamp,
  lockSha256: sha256(lockText),
});

interface Claim {
  readonly lockPath: string;
  /** Says what the last pack on this machine was made from. */
  readonly receipt: string;
  readonly stamp: Omit<Receipt, "schemaVersion" | "lockSha256">;
  readonly digests: FileDigests;
  readonly folder: string;
}

// The lock, when it was made here from exactly this spec and source and its shards are what it says.
async function currentLock(claim: Claim): Promise<DatasetLock | undefined> {
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
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Workshop {
  readonly options: PackOptions;
  readonly digests: FileDigests;
}

async function build(
  loaded: LoadedSpec,
  source: DialogueSource,
  { options, digests }: Workshop,
): Promise<{ readonly lock: DatasetLock; readonly shardsReused: number }> {
  const { spec } = loaded;
  const { signal, onProgress = () => {} } = options;
  const assembler = { source, readClip: clipReader() };
  const { entries, drops } = await survey(source, assembler, {
    onBadClip: spec.audio.onBadClip,
    onDialogue: (done) => onProgress({ phase: "check", done, total: null }),
    signal,
  });
  const heldOut = heldOutStems(spec);
  const slugs = source.roles.filter((role) => heldOut.has(role.stem)).map((role) => role.slug);
  const splits = splitEntries(entries, new Set(slugs), spec.splits);
  const gates = checkGates({ spec, roles: source.roles, strangers: source.strangers, splits });
  requireGates(gates);
  const planned = planShards(splits, source.roles, spec.shards);
  const folder = packedFolder(options.project, spec.name);
  let done = 0;
  const onRows = (rows: number): void => {
    done += rows;
    onProgress({ phase: "write", done, total: entries.length });
  };
  const world = { folder, source, assembler, digests, settings: spec.shards, onRows, signal };
  const written = await writeShards(planned, world);
  await removeStrangers(folder, planned, options.clock ?? systemClock);
  const shards: Record<Split, ShardEntry[]> = { train: [], dev: [], ood: [], test: [] };
  for (const [index, entry] of written.entries.entries()) {
    const split = planned[index]?.split;
    if (split) shards[split].push(entry);
  }
  return {
    lock: lockOf({ loaded, roles: source.roles, splits, shards, drops, gates }),
    shardsReused: written.reused,
  };
}

function shardsOf(lock: DatasetLock): readonly ShardEntry[] {
  return SPLITS.flatMap((split) => lock.splits[split].shards);
}
