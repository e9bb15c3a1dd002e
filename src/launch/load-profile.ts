import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../core/errors.ts";
import { exists } from "../core/files.ts";
import type { Project } from "../core/project.ts";
import { readYamlAs } from "../core/read-yaml.ts";
import { LauncherProfile } from "./schema.ts";

/**
 * The profile launchers/NAME.yaml. Errors: `PROFILE_UNKNOWN` naming those that exist; `YAML_INVALID` or `FILE_INVALID`
 * with every problem as `file:line:column`.
 */
export const loadProfile = async (project: Project, name: string): Promise<LauncherProfile> => {
  const file = join(project.launchers, `${name}.yaml`);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || !(await exists(file))) {
    const known = await profileNames(project);
    throw new UserError("PROFILE_UNKNOWN", `No launcher profile named "${name}"`, {
      hint:
        known.length === 0
          ? `put one into ${project.launchers}, e.g. local.yaml with the lines "schemaVersion: 1" and "kind: local"`
          : `profiles here: ${known.join(", ")}`,
    });
  }
  return readYamlAs(file, LauncherProfile);
};

/** Names of the profiles of a project, sorted. */
export const profileNames = async (project: Project): Promise<readonly string[]> => {
  try {
    const files = await readdir(project.launchers);
    return files
      .filter((file) => file.endsWith(".yaml"))
      .map((file) => file.slice(0, -".yaml".length))
      .toSorted();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
};
