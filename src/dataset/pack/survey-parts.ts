import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readIfExists, writeCache } from "../../core/files.ts";
import { sha256 } from "../../core/hash.ts";
import { z } from "zod";
import { UnitSurvey } from "./entry.ts";

/**
 * What was learnt of each unit of a source, one file for each, beside the shards: a killed pack goes on from them, and
 * machines that share the folder put a survey together. They count as long as nothing has changed that decides them.
 */
export interface SurveyParts {
  read(unit: string): Promise<UnitSurvey | undefined>;
  write(unit: string, survey: UnitSurvey): Promise<void>;
  /** Removes the parts of other states of the source or spec. */
  removeOthers(): Promise<void>;
  /** Removes all parts: something that they say has turned out to be no longer so. */
  clear(): Promise<void>;
}

const FOLDER = ".survey";

// Null: by one share of several, which may read a copy of the source.
const Part = UnitSurvey.extend({ untouched: z.string().nullable() });

/**
 * `state` is a digest of the source's state, the spec and the builder; `untouched` tells in what state this machine sees the
 * source, or is null for one that takes what all others found.
 */
export const openSurveyParts = (packed: string, state: string, untouched: string | null): SurveyParts => {
  const folder = join(packed, FOLDER);
  const mine = join(folder, state.slice(0, 16));
  const fileOf = (unit: string): string => join(mine, `${sha256(unit).slice(0, 24)}.json`);
  return {
    read: async (unit) => {
      const text = await readIfExists(fileOf(unit));
      const part = text === undefined ? undefined : parsed(text);
      const isMine = untouched === null || part?.untouched === null || part?.untouched === untouched;
      return part && isMine ? { entries: part.entries, drops: part.drops } : undefined;
    },
    write: async (unit, survey) => writeCache(fileOf(unit), JSON.stringify({ ...survey, untouched })),
    removeOthers: async () => {
      for (const name of await readdir(folder).catch(() => []))
        if (join(folder, name) !== mine) await rm(join(folder, name), { recursive: true, force: true });
    },
    clear: async () => rm(mine, { recursive: true, force: true }),
  };
};

// Only saves work: what cannot be read, as after a crash of the machine, is surveyed again.
function parsed(text: string): z.infer<typeof Part> | undefined {
  try {
    return Part.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
