import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { findProject, type Project } from "../core/project.ts";
import type { Completion } from "./command.ts";
import type { World } from "./world.ts";

const NAMES: Readonly<Record<Completion, (project: Project, cwd: string) => Promise<string[]>>> = {
  run: async ({ state }) => {
    const { runIdsIn } = await import("../track/index.ts");
    return runIdsIn(join(state, "state.sqlite"));
  },
  profile: async ({ launchers }) => (await yamlNames(launchers)).filter((name) => !name.endsWith(".example")),
  recipe: async ({ recipes }, cwd) =>
    (await yamlNames(recipes)).map((name) => join(relative(cwd, recipes), `${name}.yaml`)),
  dataset: async ({ datasets }) => yamlNames(datasets),
};

/** What a project has of a kind of thing; nothing outside of a project. Makes and changes nothing, and never fails. */
export const namesFor = async (
  what: Completion,
  { cwd, environment }: Pick<World, "cwd" | "environment">,
): Promise<string[]> => {
  try {
    return await NAMES[what](await findProject(cwd, environment["UNDERSTUDY_STATE"]), cwd);
  } catch {
    return [];
  }
};

async function yamlNames(folder: string): Promise<string[]> {
  return (await readdir(folder))
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => file.slice(0, -".yaml".length))
    .toSorted();
}
