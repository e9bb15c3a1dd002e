import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeJson } from "../../src/core/files.ts";
import { digestOf } from "../../src/core/hash.ts";
import type { DatasetLock } from "../../src/dataset/index.ts";
import { loadRecipe, readTrainRows, resolveRecipe, type Resolution } from "../../src/recipe/index.ts";
import { lockWith, NO_TOKENS, perSplit } from "../support/locks.ts";
import { recipeText } from "../support/recipes.ts";
import { temporaryProject, type TemporaryProject } from "../support/temporary-project.ts";

const split = (rows: number): DatasetLock["splits"]["train"] => ({
  shards: [],
  rows,
  turns: rows,
  audioSeconds: rows,
  userSeconds: rows,
  tokens: NO_TOKENS,
});

const role = (id: string, train: number, ood: number): DatasetLock["roles"][number] => ({
  id,
  name: id,
  stem: id,
  language: "en",
  source: "",
  categories: [],
  heldOut: ood > 0,
  profileSha256: null,
  referenceClipSha256: null,
  rows: { train, dev: 2, ood, test: 4 },
  turns: { train, dev: 2, ood, test: 4 },
  tokens: perSplit(NO_TOKENS),
});

const lock = (revision = "1"): DatasetLock =>
  lockWith({
    name: "toy",
    sourceRevision: revision,
    roles: [role("zed", 40, 0), role("amy", 24, 0), role("held", 0, 16)],
    splits: { train: split(64), dev: split(4), ood: split(16), test: split(12) },
  });

const TRAINING = "training:\n  globalBatch: 8\n  duration: { steps: 40 }\nevaluation:\n  everySteps: 10\n";

const resolve = async (
  project: TemporaryProject,
  options: { set?: readonly string[]; lock?: DatasetLock; payload?: string } = {},
): Promise<Resolution> => {
  const load = (file: string): ReturnType<typeof loadRecipe> =>
    loadRecipe({ file, folder: project.root, set: options.set ?? [] });
  return resolveRecipe({
    loaded: await load("recipes/a.yaml"),
    lock: options.lock ?? lock(),
    payloadDigest: options.payload ?? "p",
    sources: { rowsOf: (recipe) => readTrainRows(recipe, project), load },
  });
};

describe("resolveRecipe", () => {
  it("takes rows and seen roles from the lock, and nothing of where it lies", async () => {
    const [one, other] = [await temporaryProject(), await temporaryProject()];
    await one.write("recipes/a.yaml", recipeText("a", TRAINING));
    await other.write("recipes/a.yaml", `# another comment\n${recipeText("a", TRAINING)}`);
    const { resolved, digest } = await resolve(one);
    expect(resolved.plan).toMatchObject({ trainRows: 64, steps: 40, evaluations: 4, rowsExpected: false });
    expect(resolved.trainingRoles).toEqual(["amy", "zed"]);
    expect(resolved.datasetLockDigest).toBe(digestOf(lock()));
    expect((await resolve(other)).digest).toBe(digest);
    expect(JSON.stringify(resolved)).not.toContain(one.root);
  });

  it("changes its digest with a value, the data or the payload", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", TRAINING));
    const digests = [
      await resolve(project),
      await resolve(project, { set: ["training.seed=43"] }),
      await resolve(project, { lock: lock("2") }),
      await resolve(project, { payload: "q" }),
    ].map(({ digest }) => digest);
    expect(new Set(digests).size).toBe(4);
  });

  it("counts held-out roles as seen when the recipe trains on them", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", TRAINING));
    const { resolved } = await resolve(project, { set: ["dataset.trainOn=[train, ood]"] });
    expect(resolved.trainingRoles).toEqual(["amy", "held", "zed"]);
    expect(resolved.plan.trainRows).toBe(80);
  });

  it("is frozen at every depth", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", TRAINING));
    const { resolved } = await resolve(project);
    expect(() => Object.assign(resolved.recipe.training, { seed: 1 })).toThrow(TypeError);
  });

  it("refuses the lock of another data set", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", TRAINING));
    await expect(resolve(project, { lock: { ...lock(), name: "other" } })).rejects.toMatchObject({
      code: "LOCK_OF_ANOTHER_DATASET",
    });
  });
});

describe("readTrainRows", () => {
  it("prefers the lock over what the spec expects", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", TRAINING));
    await writeJson(join(project.datasets, "toy.lock.json"), lock());
    const { recipe } = await loadRecipe({ file: "recipes/a.yaml", folder: project.root });
    expect(await readTrainRows(recipe, project)).toEqual({ rows: 64, expected: false });
  });

  it("refuses to train on nothing", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", TRAINING));
    const empty = lock();
    await writeJson(join(project.datasets, "toy.lock.json"), {
      ...empty,
      splits: { ...empty.splits, train: split(0) },
    });
    const { recipe } = await loadRecipe({ file: "recipes/a.yaml", folder: project.root });
    await expect(readTrainRows(recipe, project)).rejects.toMatchObject({ code: "NO_TRAINING_ROWS" });
  });
});
