import { join } from "node:path";
import {
  listCheckpoints,
  manifestOf,
  registerCheckpoint,
  scanCheckpoints,
  verifyCheckpoint,
  type CheckpointManifest,
  type CompleteMarker,
} from "../checkpoint/index.ts";
import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import { digestOf } from "../core/hash.ts";
import type { Run } from "../track/index.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

// Hashing 127 GB takes minutes on every look; such checkpoints are hashed by `checkpoint verify`.
export const HASHED_AT_ONCE = 4e9;

/** Registers every new complete checkpoint of a training run and returns all of them. Unsound ones are told and left out. */
export const collectCheckpoints = async (shop: Shop, run: Run): Promise<readonly CheckpointManifest[]> => {
  const { job, resolved } = lockOf(run);
  if (resolved === null) return [];
  const known = new Map((await listCheckpoints(shop.project, run.id)).map((one) => [one.step, one]));
  const found = await scanCheckpoints(join(job.runFolder, "output"));
  for (const checkpoint of found) {
    if (!checkpoint.complete || isSame(checkpoint.marker, known.get(checkpoint.step))) continue;
    const key = `${run.id}@${checkpoint.step} ${digestOf(checkpoint.marker)}`;
    if (shop.unsound.has(key)) continue;
    const bytes = Object.values(checkpoint.marker.files).reduce((sum, file) => sum + file.bytes, 0);
    const digests = bytes <= HASHED_AT_ONCE;
    const [problem] = await verifyCheckpoint(checkpoint.folder, checkpoint.marker, { digests });
    if (problem) {
      shop.unsound.add(key);
      shop.onProgress({
        type: "note",
        text: `checkpoint ${checkpoint.step} is left out: ${problem.path}: ${problem.problem}`,
      });
      continue;
    }
    const attempt = savedBy(shop, run, checkpoint.step);
    const parents = {
      recipeDigest: run.recipeDigest ?? "",
      datasetLockDigest: resolved.datasetLockDigest,
      trainingRoles: [...resolved.trainingRoles],
      baseModel: baseModelName(job.manifest),
    };
    const manifest = manifestOf(
      checkpoint,
      { id: run.id, attempt, parents },
      { at: isoTime(shop.clock), digests },
    );
    await registerCheckpoint(shop.project, manifest);
  }
  return listCheckpoints(shop.project, run.id);
};

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
