import { join } from "node:path";
import { UnderstudyError } from "../core/errors.ts";
import { parseJson } from "../core/files.ts";
import { folderFiles, type CheckpointFiles } from "./files.ts";
import { CompleteMarker } from "./schema.ts";

/** Name of the file that the payload writes last; a folder without it is not a checkpoint. */
export const MARKER = "_COMPLETE.json";

export type FoundCheckpoint =
  | {
      readonly complete: true;
      readonly step: number;
      readonly folder: string;
      readonly marker: CompleteMarker;
    }
  | { readonly complete: false; readonly step: number; readonly folder: string; readonly reason: string };

/** Every `checkpoint-N` below a folder of this disk, by step. Half-written ones are listed with the reason, never hidden. */
export const scanCheckpoints = async (output: string): Promise<readonly FoundCheckpoint[]> => {
  const found = await findCheckpoints(folderFiles(output), "");
  return found.map(({ checkpoint }) => ({ ...checkpoint, folder: join(output, checkpoint.folder) }));
};

/** A checkpoint with what its folder holds: bytes of each file, by its path below that folder. */
export interface ListedCheckpoint {
  readonly checkpoint: FoundCheckpoint;
  readonly sizes: ReadonlyMap<string, number>;
}

/**
 * The same wherever the files lie: one listing, and one small read for each checkpoint. `output` and the folders found are
 * paths of `files`.
 */
export const findCheckpoints = async (
  files: CheckpointFiles,
  output: string,
): Promise<readonly ListedCheckpoint[]> => {
  const prefix = output === "" ? "" : `${output}/`;
  const folders = new Map<number, Map<string, number>>();
  for (const { path, bytes } of await files.list(output)) {
    const match = /^checkpoint-(\d+)\/(.+)$/.exec(path.startsWith(prefix) ? path.slice(prefix.length) : path);
    if (match?.[2] === undefined) continue;
    const step = Number(match[1]);
    const sizes = folders.get(step) ?? new Map<string, number>();
    folders.set(step, sizes.set(match[2], bytes));
  }
  const steps = [...folders].toSorted(([a], [b]) => a - b);
  return Promise.all(
    steps.map(async ([step, sizes]) => ({
      sizes,
      checkpoint: await look(files, `${prefix}checkpoint-${step}`, { step, sizes }),
    })),
  );
};

async function look(
  files: CheckpointFiles,
  folder: string,
  { step, sizes }: { readonly step: number; readonly sizes: ReadonlyMap<string, number> },
): Promise<FoundCheckpoint> {
  const incomplete = (reason: string): FoundCheckpoint => ({ complete: false, step, folder, reason });
  const unfinished = `no ${MARKER}: the save was not finished`;
  if (!sizes.has(MARKER)) return incomplete(unfinished);
  try {
    const text = Buffer.from(await files.read(`${folder}/${MARKER}`)).toString("utf8");
    const marker = parseJson(text, CompleteMarker, `${folder}/${MARKER}`);
    if (marker.step === step) return { complete: true, step, folder, marker };
    return incomplete(`its marker is of step ${marker.step}`);
  } catch (error) {
    // An unreachable machine says nothing about the checkpoint.
    if (!(error instanceof UnderstudyError)) throw error;
    if (error.code === "ARTIFACT_MISSING") return incomplete(unfinished);
    if (error.code === "JSON_INVALID" || error.code === "FILE_INVALID") return incomplete(error.message);
    throw error;
  }
}
