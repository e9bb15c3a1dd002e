import { UserError } from "../core/errors.ts";
import { exists, readJson } from "../core/files.ts";
import { digestOf } from "../core/hash.ts";
import type { Project } from "../core/project.ts";
import { loadSpec, lockFile } from "./load-spec.ts";
import { DatasetLock } from "./schema.ts";

/** Identifies a packed data set: a run that names it names every byte of its shards. */
export const lockDigest = (lock: DatasetLock): string => digestOf(lock);

/** The lock of a data set. UserErrors `DATASET_UNKNOWN`, `DATASET_NOT_PACKED`, `FILE_INVALID`. */
export const readLock = async (project: Project, name: string): Promise<DatasetLock> => {
  const path = lockFile(project, name);
  if (await exists(path)) return readJson(path, DatasetLock);
  await loadSpec(project, name);
  throw new UserError("DATASET_NOT_PACKED", `The data set "${name}" is not packed`, {
    hint: `understudy dataset pack ${name}`,
  });
};
