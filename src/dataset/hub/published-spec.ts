import { join } from "node:path";
import { stringify } from "yaml";
import { exists, readIfExists, writeAtomic } from "../../core/files.ts";
import { parseYaml } from "../../core/read-yaml.ts";
import { digestOf } from "../../core/hash.ts";
import type { Project } from "../../core/project.ts";
import { loadSpec } from "../load-spec.ts";
import { DatasetLock, DatasetSpec } from "../schema.ts";

/** The spec's name in a repository: with it a pulled data set can be shown, checked and trained on like any other. */
export const SPEC_PATH = "understudy.yaml";

/**
 * The spec for a repository, without its comments; undefined when it is not the one that the lock was made from, or names a
 * place on this machine by a whole path.
 */
export const specToPublish = async (project: Project, lock: DatasetLock): Promise<string | undefined> => {
  if (!(await exists(specFile(project, lock.name)))) return undefined;
  const { spec, digest } = await loadSpec(project, lock.name);
  return digest === lock.specDigest && !namesPlaces(spec) ? stringify(spec) : undefined;
};

function namesPlaces(value: unknown): boolean {
  if (typeof value === "string") return /^(?:[/~]|[A-Za-z]:[\\/]|file:)/.test(value);
  return typeof value === "object" && value !== null && Object.values(value).some(namesPlaces);
}

interface Pulled {
  readonly text: string;
  readonly lock: DatasetLock;
  /** Name of the data set here. */
  readonly name: string;
  /** Text of the lock that was here before. */
  readonly before: string | undefined;
}

/**
 * Puts a pulled spec where a project keeps them. One that is there stays, except when it is that of the lock before: an
 * older pull brought it. Text that is not the spec of the lock is left alone.
 */
export const takeOverSpec = async (project: Project, { text, lock, name, before }: Pulled): Promise<void> => {
  const spec = specOf(text, lock.specDigest);
  if (!spec) return;
  const file = specFile(project, name);
  const present = await readIfExists(file);
  if (present === undefined || specOf(present, specDigestIn(before))) {
    await writeAtomic(file, stringify({ ...spec, name }));
  }
};

function specDigestIn(lock: string | undefined): string | undefined {
  try {
    return DatasetLock.parse(JSON.parse(lock ?? "")).specDigest;
  } catch {
    return undefined;
  }
}

/** Digest of the lock's spec under another name; the lock's own where the spec was not published. */
export const specDigestAs = (name: string, lock: DatasetLock, text: string | undefined): string => {
  const spec = text === undefined ? undefined : specOf(text, lock.specDigest);
  return spec ? digestOf({ ...spec, name }) : lock.specDigest;
};

function specOf(text: string, digest: string | undefined): DatasetSpec | undefined {
  try {
    const spec = DatasetSpec.parse(parseYaml(text, "understudy.yaml").value);
    return digestOf(spec) === digest ? spec : undefined;
  } catch {
    return undefined;
  }
}

const specFile = (project: Project, name: string): string => join(project.datasets, `${name}.yaml`);
