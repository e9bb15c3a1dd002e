import { UserError } from "../../../core/errors.ts";
import type { Project } from "../../../core/project.ts";
import { findSpec, type DatasetLock, type LoadedSpec } from "../../../dataset/index.ts";

export interface FoundSpec {
  /** Undefined where there is none, or none that can be read. */
  readonly spec: LoadedSpec | undefined;
  /** The spec is there and says something else than when the data set was packed. */
  readonly changed: boolean;
}

/** The spec of a data set as it is now, next to the lock. One that is broken has changed, and hides no lock. */
export const specNow = async (project: Project, name: string, lock: DatasetLock): Promise<FoundSpec> => {
  try {
    const spec = await findSpec(project, name);
    return { spec, changed: spec !== undefined && spec.digest !== lock.specDigest };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { spec: undefined, changed: true };
  }
};

/** What to say of it. */
export const changedText = (name: string): string =>
  `datasets/${name}.yaml has changed since ${name} was packed: understudy dataset pack ${name}`;
