import { UserError } from "../core/errors.ts";
import { exists, readJson } from "../core/files.ts";
import { digestOf } from "../core/hash.ts";
import type { Project } from "../core/project.ts";
import { loadSpec } from "./load-spec.ts";
import { lockFile } from "./places.ts";
import { DatasetLock } from "./schema.ts";

/** Identifies a packed data set: a run that names it names every byte of its shards. */
export const lockDigest = (lock: DatasetLock): string => digestOf(lock);

/** The lock of a data set. UserErrors `DATASET_UNKNOWN`, `DATASET_NOT_PACKED`, `LOCK_INVALID`. */
export const readLock = async (project: Project, name: string): Promise<DatasetLock> => {
  const path = lockFile(project, name);
  if (await exists(path)) return readLockAt(path, name);
  await loadSpec(project, name);
  throw new UserError("DATASET_NOT_PACKED", `The data set "${name}" is not packed`, {
    hint: `understudy dataset pack ${name}`,
  });
};

async function readLockAt(path: string, name: string): Promise<DatasetLock> {
  try {
    return await readJson(path, DatasetLock);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError("LOCK_INVALID", firstLines(error.message), {
      hint: `take the lock from version control, or pack again: understudy dataset pack ${name}`,
      cause: error,
    });
  }
}

const MOST_LINES = 6;

// A file of another kind or version differs in every key: the first few say so.
function firstLines(message: string): string {
  const lines = message.split("\n");
  const more = lines.length > MOST_LINES ? [`  and ${lines.length - MOST_LINES} more`] : [];
  return [...lines.slice(0, MOST_LINES), ...more].join("\n");
}
