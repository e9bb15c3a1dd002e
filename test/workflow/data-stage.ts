import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { digestOf } from "../../src/core/hash.ts";
import { projectAt } from "../../src/core/project.ts";
import { openDataset, packDataset } from "../../src/dataset/index.ts";
import type { Instance } from "../../src/evaluate/index.ts";
import {
  followToSuccess,
  prepareTraining,
  trainFromRecipe,
  type PreparedTraining,
} from "../../src/workflow/index.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { makeStage, python, repository, type Stage } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

const template = mkdtempSync(join(tmpdir(), "understudy-data-"));
const instances: Instance[] = [];

/** Packs the sample corpus once for the tests of a file. */
export const packOnce = (): void => {
  beforeAll(async () => {
    for (const name of ["greenroom", "greenroom.yaml", "greenroom.lock.json"]) {
      cpSync(join(repository, "datasets", name), join(template, "datasets", name), { recursive: true });
    }
    const project = projectAt(template);
    await packDataset({ project, name: "greenroom" });
    const dataset = await openDataset(project, "greenroom");
    try {
      for await (const { id, roleId, language, kind, turns } of dataset.texts("test")) {
        for (const { index } of turns)
          instances.push({ dialogue: id, role: roleId, language, kind, turn: index });
      }
    } finally {
      await dataset.close();
    }
  });
  afterAll(() => removeFolder(template));
};

/** A stage with the packed corpus, a recipe of four steps and an environment that the stand-in can live in. */
export const makeDataStage = async (): Promise<Stage> => {
  const stage = await makeStage();
  const { project, home } = stage;
  cpSync(join(template, "datasets"), project.datasets, { recursive: true });
  cpSync(join(template, ".understudy", "datasets"), join(project.state, "datasets"), { recursive: true });
  cpSync(join(repository, "recipes/quickstart.yaml"), join(project.recipes, "quickstart.yaml"));
  writeFileSync(join(project.launchers, "local.yaml"), "schemaVersion: 1\nkind: local\ndevice: cpu\n");
  writeFileSync(join(home, "instances.json"), JSON.stringify(instances));
  const locks = ["# no torch\n", "# nothing\n"];
  for (const [index, name] of ["requirements-torch.lock", "requirements.lock"].entries()) {
    writeFileSync(join(project.launchers, "payload", name), locks[index] ?? "");
  }
  // What preparePython would make of these lock files, without installing anything.
  const minor = python.version.split(".").slice(0, 2).join(".");
  const wheels = process.env["UNDERSTUDY_TORCH_WHEELS"] ?? null;
  const key = { locks, minor, device: "cpu", wheels, platform: platform(), arch: arch() };
  const folder = join(project.state, "environments", digestOf(key).slice(0, 16));
  mkdirSync(join(folder, "bin"), { recursive: true });
  symlinkSync(python.path, join(folder, "bin/python"));
  writeFileSync(join(folder, "_COMPLETE.json"), "{}");
  return stage;
};

/** Everything before a run with this id exists. */
export const prepared = async (
  shop: Shop,
  runId: string,
  set: readonly string[] = [],
): Promise<PreparedTraining> =>
  prepareTraining(shop, {
    recipe: "recipes/quickstart.yaml",
    folder: shop.project.root,
    set: ["training.duration.steps=4", "evaluation.everySteps=2", ...set],
    profile: "local",
    runId,
    force: false,
  });

/** A training run that has succeeded. */
export const trained = async (shop: Shop, runId: string, set: readonly string[] = []): Promise<void> => {
  await trainFromRecipe(shop, await prepared(shop, runId, set), "local");
  await followToSuccess(shop, runId);
};

/** Role turns of the test split. */
export const expectedTurns = (): number => instances.length;
