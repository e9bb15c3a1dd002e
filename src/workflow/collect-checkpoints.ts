import { z } from "zod";
import {
  findCheckpoints,
  listCheckpoints,
  manifestOf,
  registerCheckpoint,
  verifyListed,
  type CheckpointFiles,
  type CheckpointManifest,
  type CompleteMarker,
  type FoundCheckpoint,
  type ListedCheckpoint,
} from "../checkpoint/index.ts";
import { isoTime } from "../core/clock.ts";
import { digestOf } from "../core/hash.ts";
import type { JobRef } from "../launch/index.ts";
import type { Run } from "../track/index.ts";
import { whereOf } from "./launchers-where.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { paceOf } from "./watch-pace.ts";

// Hashing 127 GB takes minutes on every look; such checkpoints are hashed by `checkpoint verify`.
export const HASHED_AT_ONCE = 4e9;

/** The folder of a run, wherever it lies. */
export interface RunFiles {
  readonly files: CheckpointFiles;
  readonly ref: JobRef;
}

type Complete = Extract<FoundCheckpoint, { complete: true }>;

/**
 * Registers every new complete checkpoint of a training run and returns all of them; nothing is downloaded. Unsound ones are
 * told and left out.
 */
export const collectCheckpoints = async (
  shop: Shop,
  run: Run,
  where: RunFiles,
): Promise<readonly CheckpointManifest[]> => {
  if (lockOf(run).resolved === null) return [];
  const known = new Map((await listCheckpoints(shop.project, run.id)).map((one) => [one.step, one]));
  for (const listed of await findCheckpoints(where.files, "output")) {
    const { checkpoint } = listed;
    if (!checkpoint.complete || isSame(checkpoint.marker, known.get(checkpoint.step))) continue;
    await register(shop, run, { where, listed, checkpoint });
  }
  return listCheckpoints(shop.project, run.id);
};

async function register(
  shop: Shop,
  run: Run,
  found: { readonly where: RunFiles; readonly listed: ListedCheckpoint; readonly checkpoint: Complete },
): Promise<void> {
  const { where, listed, checkpoint } = found;
  const { job, resolved } = lockOf(run);
  const key = `${run.id}@${checkpoint.step} ${digestOf(checkpoint.marker)}`;
  const isTold = shop.unsound.has(key);
  // Where files arrive late, what was broken may be whole by now.
  if (isTold && paceOf(job.profile).lag === 0) return;
  const { folder, marker } = checkpoint;
  const { problems, digests } = await verifyListed(
    where.files,
    { folder, sizes: listed.sizes, marker },
    { digests: bytesOf(marker) <= HASHED_AT_ONCE },
  );
  const [problem] = problems;
  if (problem) {
    shop.unsound.add(key);
    if (isTold) return;
    shop.onProgress({
      type: "note",
      text: `checkpoint ${checkpoint.step} is left out: ${problem.path}: ${problem.problem}`,
    });
    return;
  }
  const parents = {
    recipeDigest: run.recipeDigest ?? "",
    datasetLockDigest: resolved?.datasetLockDigest ?? "",
    trainingRoles: [...(resolved?.trainingRoles ?? [])],
    baseModel: baseModelName(job.manifest),
  };
  const manifest = manifestOf(
    { ...checkpoint, folder: whereOf(job.profile, where.ref, folder) },
    { id: run.id, attempt: savedBy(shop, run, checkpoint.step), parents },
    { at: isoTime(shop.clock), digests },
  );
  await registerCheckpoint(shop.project, manifest);
}

/** Bytes of all files that a marker lists. */
export const bytesOf = (marker: CompleteMarker): number =>
  Object.values(marker.files).reduce((sum, file) => sum + file.bytes, 0);

// A checkpoint that was found broken and trained again is another one.
function isSame(marker: CompleteMarker, manifest: CheckpointManifest | undefined): boolean {
  if (manifest === undefined) return false;
  const kept = Object.fromEntries(manifest.files.map(({ path, bytes, sha256 }) => [path, { bytes, sha256 }]));
  return digestOf(kept) === digestOf(marker.files);
}

const Saved = z.object({ step: z.int() });

function savedBy(shop: Shop, run: Run, step: number): number {
  const events = shop.store.events(run.id, { types: ["checkpoint"] });
  const event = events.findLast(({ data }) => Saved.safeParse(data).data?.step === step);
  return event?.attempt ?? shop.store.attempts(run.id).at(-1)?.number ?? 1;
}

function baseModelName(manifest: Readonly<Record<string, unknown>>): string {
  const { model } = manifest;
  return typeof model === "object" && model !== null && "revision" in model
    ? String(model.revision)
    : "unknown";
}
