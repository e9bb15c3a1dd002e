import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectAt } from "../../src/core/project.ts";
import {
  loadRecipe,
  planTraining,
  QWEN_PREAMBLE,
  readTrainRows,
  type LoadedRecipe,
  type PlannedTraining,
} from "../../src/recipe/index.ts";

const root = join(import.meta.dirname, "../..");
const load = (file: string): Promise<LoadedRecipe> => loadRecipe({ file, folder: join(root, "recipes") });

const plan = async (file: string): Promise<PlannedTraining> =>
  planTraining(await load(file), {
    rowsOf: (recipe) => readTrainRows(recipe, projectAt(root)),
    load,
  });

describe("the recipes of this project", () => {
  it("are all called after their files, and plan", async () => {
    const files = (await readdir(join(root, "recipes"))).filter((name) => name.endsWith(".yaml"));
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const file of files) {
      expect(`${(await load(file)).recipe.name}.yaml`).toBe(file);
      const { plan: numbers, warnings } = await plan(file);
      expect(numbers.evaluations, file).toBeGreaterThanOrEqual(2);
      expect(warnings, file).toEqual([]);
    }
  });

  it("keep what the authors publish", async () => {
    const { recipe, values } = await load("speechrole-agent.yaml");
    expect(recipe.training).toMatchObject({ precision: "bf16", learningRate: 1e-4 });
    expect(recipe.evaluation.everySteps).toBe(500);
    expect(values.filter(({ origin }) => origin === "paper").map(({ path }) => path)).toEqual([
      "training.precision",
      "training.learningRate",
      "evaluation.everySteps",
    ]);
    expect(recipe.prompt.preamble).toBe(QWEN_PREAMBLE);
  });

  it("pair the control at equal steps and only differ in what it has seen", async () => {
    const [agent, control] = [await plan("speechrole-agent.yaml"), await plan("speechrole-agent-all98.yaml")];
    expect(control.plan.steps).toBe(agent.plan.steps);
    expect(control.plan.trainRows).toBeGreaterThan(agent.plan.trainRows);
    const [one, other] = [
      (await load("speechrole-agent.yaml")).recipe,
      (await load("speechrole-agent-all98.yaml")).recipe,
    ];
    expect({ ...other, name: one.name, description: one.description }).toEqual({
      ...one,
      dataset: { ...one.dataset, trainOn: ["train", "ood"] },
      training: { ...one.training, duration: { stepsOf: "speechrole-agent.yaml" } },
    });
  });
});
