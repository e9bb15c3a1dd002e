import { join } from "node:path";
import type { Project } from "../core/project.ts";

/** Where the packed shards of a data set lie: shard paths in its lock are relative to this folder. */
export const packedFolder = (project: Project, name: string): string =>
  join(project.datasets, "packed", name);

/** Where the lock of a data set lies. */
export const lockFile = (project: Project, name: string): string =>
  join(project.datasets, `${name}.lock.json`);
