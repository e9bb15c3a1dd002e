import { describe, expect, it } from "vitest";
import {
  countEvaluations,
  loadRecipe,
  planTraining,
  readTrainRows,
  type PlannedTraining,
} from "../../src/recipe/index.ts";
import { recipeText, specText } from "../support/recipes.ts";
import { temporaryProject, type TemporaryProject } from "../support/temporary-project.ts";

const plan = async (project: TemporaryProject, file: string): Promise<PlannedTraining> => {
  const load = (path: string): ReturnType<typeof loadRecipe> =>
    loadRecipe({ file: path, folder: project.root });
  return planTraining(await load(file), {
    rowsOf: (recipe) => readTrainRows(recipe, project),
    load,
  });
};

const training = (duration: string, everySteps: number): string =>
  `training:\n  globalBatch: 8\n  duration: ${duration}\nevaluation:\n  everySteps: ${everySteps}\n`;

describe("planTraining", () => {
  it.each([
    [100, 20, 5],
    [100, 30, 4],
    [100, 100, 1],
    [101, 100, 2],
    [7, 1, 7],
  ])("counts the evaluations of %i steps at one every %i", (steps, everySteps, evaluations) => {
    expect(countEvaluations(steps, everySteps)).toBe(evaluations);
  });

  it("keeps the last, partial batch of an epoch as a step", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 65, 10));
    await project.write("recipes/a.yaml", recipeText("a", training("{ epochs: 2 }", 5)));
    expect((await plan(project, "recipes/a.yaml")).plan).toEqual({
      trainRows: 65,
      stepsPerEpoch: 9,
      steps: 18,
      epochs: 2,
      evaluations: 4,
      rowsExpected: true,
    });
  });

  it("adds the rows of all splits that are trained on", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    const text = recipeText("a", training("{ steps: 25 }", 5)).replace(
      "name: toy",
      "name: toy\n  trainOn: [train, ood]",
    );
    await project.write("recipes/a.yaml", text);
    expect((await plan(project, "recipes/a.yaml")).plan).toMatchObject({
      trainRows: 80,
      stepsPerEpoch: 10,
      epochs: 2.5,
    });
  });

  it("refuses an evaluation interval longer than the run and shows the arithmetic", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 10));
    await project.write("recipes/a.yaml", recipeText("a", training("{ epochs: 3 }", 500)));
    await expect(plan(project, "recipes/a.yaml")).rejects.toMatchObject({
      code: "EVALUATION_TOO_RARE",
      message:
        "recipes/a.yaml:13:3 evaluation.everySteps is 500, but the whole run has 24 steps " +
        "(64 expected rows / 8 a step = 8 steps an epoch, 3 epochs)",
    });
  });

  it("warns when there is one evaluation only", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 10));
    await project.write("recipes/a.yaml", recipeText("a", training("{ steps: 24 }", 24)));
    const { plan: numbers, warnings } = await plan(project, "recipes/a.yaml");
    expect(numbers.evaluations).toBe(1);
    expect(warnings).toEqual([expect.stringContaining("only 1 evaluation in 24 steps")]);
  });

  it("takes the steps of another recipe, whatever its own rows", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", training("{ epochs: 3 }", 4)));
    await project.write(
      "recipes/b.yaml",
      "extends: a.yaml\nname: b\ndataset: { trainOn: [train, ood] }\ntraining:\n  duration: { stepsOf: a.yaml }\n",
    );
    expect((await plan(project, "recipes/b.yaml")).plan).toMatchObject({
      steps: 24,
      stepsPerEpoch: 10,
      epochs: 2.4,
    });
  });

  it("refuses recipes that take their steps from each other", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", training("{ stepsOf: b.yaml }", 4)));
    await project.write("recipes/b.yaml", recipeText("b", training("{ stepsOf: a.yaml }", 4)));
    await expect(plan(project, "recipes/a.yaml")).rejects.toMatchObject({ code: "STEPS_OF_CYCLE" });
  });

  it("says what to do when nobody knows the rows", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", training("{ epochs: 3 }", 4)));
    await expect(plan(project, "recipes/a.yaml")).rejects.toMatchObject({ code: "DATASET_UNKNOWN" });
    await project.write("datasets/toy.yaml", specText("toy", 64, 16).replace(/expected:[\s\S]*/, ""));
    await expect(plan(project, "recipes/a.yaml")).rejects.toMatchObject({
      code: "ROWS_UNKNOWN",
      hint: expect.stringContaining("understudy dataset pack toy"),
    });
  });
});
