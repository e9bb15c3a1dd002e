import { readdir } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { UserError } from "../core/errors.ts";
import { exists, readIfExists } from "../core/files.ts";
import { digestOf } from "../core/hash.ts";
import type { Project } from "../core/project.ts";
import { readYamlAs } from "../core/read-yaml.ts";
import { DatasetSpec } from "./schema.ts";

export interface LoadedSpec {
  readonly spec: DatasetSpec;
  /** The YAML file, absolute. */
  readonly file: string;
  /**
   * Digest of what the file says, with defaults filled in: comments and layout do not count. A role manifest that lies
   * outside the source is part of what the file says.
   */
  readonly digest: string;
  /** Folder or file of the source, absolute; for a Hub repository, where its files are kept. */
  readonly sourceFolder: string;
  /** The role manifest, absolute: in the source folder, or beside the YAML file. */
  readonly rolesFile: string;
}

/** datasets/NAME.yaml. UserErrors `DATASET_UNKNOWN`, `SPEC_INVALID`, and `ProblemsError` with every problem's place. */
export const loadSpec = async (project: Project, name: string): Promise<LoadedSpec> => {
  const file = join(project.datasets, `${name}.yaml`);
  if (!/^[\w-]+$/.test(name) || !(await exists(file)))
    throw new UserError("DATASET_UNKNOWN", `There is no data set named "${name}"`, {
      hint: `data sets here: ${(await specNames(project)).join(", ") || "none"}`,
    });
  const spec = await readYamlAs(file, DatasetSpec);
  if (spec.name !== name)
    throw new UserError("SPEC_INVALID", `${file} calls itself "${spec.name}"`, {
      hint: "the name in the file and the name of the file must be the same",
    });
  const { source } = spec;
  if (source.format === "speechrole-release") requireDistinct(source.references, file);
  const sourceFolder =
    source.format === "hub"
      ? join(project.state, "datasets", `${name}.hub`)
      : resolve(dirname(file), source.path);
  const rolesFile = await findRoles(source.roles, { sourceFolder, file });
  const outside = rolesFile.startsWith(`${sourceFolder}${sep}`) ? undefined : await readIfExists(rolesFile);
  const digest = digestOf(outside === undefined ? spec : { spec, roles: outside });
  return { spec, file, digest, sourceFolder, rolesFile };
};

/** `loadSpec`, or undefined where there is only a lock: a pulled data set whose spec was not published. Its other errors. */
export const findSpec = async (project: Project, name: string): Promise<LoadedSpec | undefined> =>
  (await exists(join(project.datasets, `${name}.yaml`))) ? loadSpec(project, name) : undefined;

async function findRoles(
  roles: string,
  { sourceFolder, file }: Pick<LoadedSpec, "sourceFolder" | "file">,
): Promise<string> {
  const inside = resolve(sourceFolder, roles);
  const beside = resolve(dirname(file), roles);
  return (await exists(inside)) || !(await exists(beside)) ? inside : beside;
}

function requireDistinct(references: Readonly<Record<string, string>>, file: string): void {
  const backends = Object.values(references);
  if (new Set(backends).size !== backends.length)
    throw new UserError("SPEC_INVALID", `${file}: source.references names a backend twice`);
}

/** Names of the data sets of a project, sorted. */
export const specNames = async (project: Project): Promise<readonly string[]> =>
  (await readdir(project.datasets))
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => name.slice(0, -".yaml".length))
    .toSorted();
