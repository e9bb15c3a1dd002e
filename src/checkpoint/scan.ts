import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UnderstudyError } from "../core/errors.ts";
import { readJson } from "../core/files.ts";
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

/** Every `checkpoint-N` below `output`, by step. Half-written ones are listed with the reason, never hidden. */
export const scanCheckpoints = async (output: string): Promise<readonly FoundCheckpoint[]> => {
  const names = await namesIn(output);
  const steps = names.flatMap((name) => {
    const match = /^checkpoint-(\d+)$/.exec(name);
    return match ? [Number(match[1])] : [];
  });
  steps.sort((a, b) => a - b);
  return Promise.all(steps.map(async (step) => look(join(output, `checkpoint-${step}`), step)));
};

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

async function look(folder: string, step: number): Promise<FoundCheckpoint> {
  try {
    const marker = await readJson(join(folder, MARKER), CompleteMarker);
    if (marker.step === step) return { complete: true, step, folder, marker };
    return { complete: false, step, folder, reason: `its marker is of step ${marker.step}` };
  } catch (error) {
    if (!(error instanceof UnderstudyError)) throw error;
    const reason = error.code === "FILE_MISSING" ? `no ${MARKER}: the save was not finished` : error.message;
    return { complete: false, step, folder, reason };
  }
}
