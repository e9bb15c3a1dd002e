import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../core/errors.ts";
import { exists } from "../core/files.ts";
import { didYouMean } from "../core/near-matches.ts";
import type { Project } from "../core/project.ts";
import { problemsOf, ProblemsError, readYaml, type Problem } from "../core/read-yaml.ts";
import { profileKeys } from "./profile-keys.ts";
import { LauncherProfile } from "./profile.ts";

/** Ends the names of profiles that are there to be copied. */
const EXAMPLE = ".example";

/**
 * The profile launchers/NAME.yaml. Errors: `PROFILE_UNKNOWN` naming those that exist; `YAML_INVALID` or `FILE_INVALID`
 * with every problem as `file:line:column`.
 */
export const loadProfile = async (project: Project, name: string): Promise<LauncherProfile> => {
  const file = join(project.launchers, `${name}.yaml`);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || !(await exists(file))) throw await unknown(project, name);
  const yaml = await readYaml(file);
  const parsed = LauncherProfile.safeParse(yaml.value);
  if (parsed.success) return parsed.data;
  const problems = problemsOf(parsed.error, yaml).map((problem) => explained(problem, yaml.value));
  throw new ProblemsError("FILE_INVALID", `${file} has problems:`, problems);
};

/** Names of the profiles of a project, sorted; examples are no profiles. */
export const profileNames = async (project: Project): Promise<readonly string[]> =>
  (await namesIn(project)).filter((name) => !name.endsWith(EXAMPLE));

async function namesIn(project: Project): Promise<readonly string[]> {
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
}

async function unknown(project: Project, name: string): Promise<UserError> {
  const all = await namesIn(project);
  const known = all.filter((one) => !one.endsWith(EXAMPLE));
  return new UserError("PROFILE_UNKNOWN", `No launcher profile named "${name}"${didYouMean(name, known)}`, {
    hint: hintFor(project, name, { all, known }),
  });
}

function hintFor(
  { launchers }: Project,
  name: string,
  { all, known }: { readonly all: readonly string[]; readonly known: readonly string[] },
): string {
  const here = `profiles here: ${known.join(", ")}`;
  if (all.includes(`${name}${EXAMPLE}`)) {
    const copy = `copy the example and fill it in: cp ${join(launchers, `${name}${EXAMPLE}.yaml`)} ${join(launchers, `${name}.yaml`)}`;
    return known.length === 0 ? copy : `${copy}; ${here}`;
  }
  if (known.length > 0) return here;
  return `put one into ${launchers}, e.g. local.yaml with the lines "schemaVersion: 1" and "kind: local"`;
}

function explained(problem: Problem, value: unknown): Problem {
  if (problem.message !== "unknown key") return problem;
  const path = problem.path.split(".");
  const key = path.at(-1) ?? "";
  // The path of a list's entry reads hosts[0].
  const parents = path.slice(0, -1).flatMap((part) => part.replaceAll(/\[(\d+)\]/g, ".$1").split("."));
  return { ...problem, message: `unknown key${didYouMean(key, profileKeys(value, parents))}` };
}
