import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, UserError } from "../core/errors.ts";
import { readJson, writeJson } from "../core/files.ts";
import type { Project } from "../core/project.ts";
import { CheckpointManifest } from "./schema.ts";

/** Manifests of checkpoints that nobody promoted yet live with the state, one small JSON each. */
const folderOf = (project: Project, run: string): string => join(project.state, "manifests", run);

/** Stores a manifest, in place of an earlier one of the same step. */
export const registerCheckpoint = async (project: Project, manifest: CheckpointManifest): Promise<void> => {
  await writeJson(join(folderOf(project, manifest.run), `${manifest.step}.json`), manifest);
};

/** Manifests of a run by step; empty when it has none. */
export const listCheckpoints = async (
  project: Project,
  run: string,
): Promise<readonly CheckpointManifest[]> => {
  const folder = folderOf(project, run);
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
  const manifests = await Promise.all(
    names
      .filter((name) => name.endsWith(".json"))
      .map(async (name) => readJson(join(folder, name), CheckpointManifest)),
  );
  return manifests.toSorted((a, b) => a.step - b.step);
};

/** The manifest of `RUN@STEP`. UserError `CHECKPOINT_UNKNOWN` names the steps there are. */
export const findCheckpoint = async (project: Project, id: string): Promise<CheckpointManifest> => {
  const [run, step] = splitId(id);
  const manifests = await listCheckpoints(project, run);
  const found = manifests.find((manifest) => manifest.step === step);
  if (found) return found;
  const steps = manifests.map((manifest) => manifest.step);
  throw new UserError("CHECKPOINT_UNKNOWN", `There is no checkpoint ${id}`, {
    hint:
      steps.length > 0
        ? `run ${run} has steps ${steps.join(", ")}`
        : "no run of that name has a complete checkpoint here; see the runs: understudy run list",
  });
};

function splitId(id: string): readonly [string, number] {
  const match = /^([A-Za-z0-9][A-Za-z0-9._-]*)@(\d{1,12})$/.exec(id);
  if (!match?.[1]) {
    throw new UserError("CHECKPOINT_ID", `"${id}" is not a checkpoint id`, {
      hint: "it looks like RUN@STEP; understudy checkpoint list RUN shows those of a run",
    });
  }
  return [match[1], Number(match[2])];
}
