import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ProblemsError } from "../../src/core/read-yaml.ts";
import { loadRecipe, type LoadedRecipe } from "../../src/recipe/index.ts";
import { recipeText } from "../support/recipes.ts";
import { temporaryProject } from "../support/temporary-project.ts";

const valueOf = (loaded: LoadedRecipe, path: string): LoadedRecipe["values"][number] | undefined =>
  loaded.values.find((value) => value.path === path);

const problemsOf = async (promise: Promise<unknown>): Promise<string[]> => {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProblemsError)) throw error ?? new Error("the recipe was taken as valid");
  return error.problems.map(({ place, path, message }) => `${place} ${path}: ${message}`);
};

describe("loadRecipe", () => {
  it("fills in built-in values and says which are published and which are ours", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a"));
    const loaded = await loadRecipe({ file: "recipes/a.yaml", folder: project.root });
    expect(loaded.recipe.training.learningRate).toBe(1e-4);
    expect(valueOf(loaded, "training.learningRate")).toMatchObject({ origin: "paper", place: null });
    expect(valueOf(loaded, "training.lora.rank")).toMatchObject({ origin: "ours", value: 64 });
    expect(valueOf(loaded, "training.duration.epochs")?.why).toContain("not published");
    expect(valueOf(loaded, "model.seed")).toMatchObject({ origin: "file", place: "recipes/a.yaml:8:3" });
    expect(loaded.values.filter(({ origin, why }) => origin === "ours" && !why)).toEqual([]);
  });

  it("tells all three mistakes of a file at once, with file, line, column and what was meant", async () => {
    const project = await temporaryProject();
    const training =
      "training:\n  learningRat: 1.0e-4\n  precision: bf61\nevaluation:\n  everySteps: often\n";
    await project.write("recipes/bad.yaml", recipeText("bad", training));
    const problems = await problemsOf(loadRecipe({ file: "recipes/bad.yaml", folder: project.root }));
    expect(problems).toEqual([
      "recipes/bad.yaml:10:3 training.learningRat: unknown key; did you mean learningRate?",
      'recipes/bad.yaml:11:3 training.precision: expected bf16 or fp32, not "bf61"',
      'recipes/bad.yaml:13:3 evaluation.everySteps: expected number, not "often"',
    ]);
  });

  it("gives a problem in an extended parent the parent's place, beside the child's own", async () => {
    const project = await temporaryProject();
    await project.write("recipes/parent.yaml", recipeText("parent", "training:\n  globalBatch: 0\n"));
    await project.write("recipes/child.yaml", "extends: parent.yaml\nname: child\ntraining:\n  seed: -1\n");
    const problems = await problemsOf(loadRecipe({ file: "recipes/child.yaml", folder: project.root }));
    expect(problems).toHaveLength(2);
    expect(problems).toContainEqual(
      expect.stringMatching(/^recipes\/parent.yaml:10:3 training.globalBatch: /),
    );
    expect(problems).toContainEqual(expect.stringMatching(/^recipes\/child.yaml:4:3 training.seed: /));
  });

  it("lets a child mend a parent's bad value", async () => {
    const project = await temporaryProject();
    await project.write("recipes/parent.yaml", recipeText("parent", "training:\n  globalBatch: 0\n"));
    await project.write(
      "recipes/child.yaml",
      "extends: parent.yaml\nname: child\ntraining:\n  globalBatch: 4\n",
    );
    const { recipe } = await loadRecipe({ file: "recipes/child.yaml", folder: project.root });
    expect(recipe.training.globalBatch).toBe(4);
  });

  it("follows a chain of files, then flags, and traces each value to where it is written", async () => {
    const project = await temporaryProject();
    const training = "training:\n  globalBatch: 16\n  seed: 1\n  lora: { rank: 8 }\n";
    await project.write("recipes/base.yaml", recipeText("base", training));
    await project.write(
      "recipes/middle.yaml",
      "extends: base.yaml\ntraining:\n  seed: 2\n  lora: { alpha: 4 }\n",
    );
    await project.write("recipes/deep/top.yaml", "extends: ../middle.yaml\nname: top\n");
    const loaded = await loadRecipe({
      file: "recipes/deep/top.yaml",
      folder: project.root,
      set: ["training.microBatch=4", "training.learningRate=2e-4"],
    });
    expect(loaded.files).toEqual(["recipes/deep/top.yaml", "recipes/middle.yaml", "recipes/base.yaml"]);
    expect(loaded.recipe.training).toMatchObject({ seed: 2, globalBatch: 16, lora: { rank: 8, alpha: 4 } });
    expect(valueOf(loaded, "name")?.place).toBe("recipes/deep/top.yaml:2:1");
    expect(valueOf(loaded, "training.lora.rank")?.place).toBe("recipes/base.yaml:12:11");
    expect(valueOf(loaded, "training.lora.alpha")?.place).toBe("recipes/middle.yaml:4:11");
    expect(valueOf(loaded, "training.learningRate")).toMatchObject({
      origin: "flag",
      value: 2e-4,
      place: "--set training.learningRate",
    });
  });

  it("marks a written value that equals the published one as paper, and keeps its place", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", "evaluation:\n  everySteps: 500\n"));
    const loaded = await loadRecipe({ file: "recipes/a.yaml", folder: project.root });
    expect(valueOf(loaded, "evaluation.everySteps")).toMatchObject({
      origin: "paper",
      place: "recipes/a.yaml:10:3",
    });
  });

  it("replaces a choice whole: steps over epochs, another kind of model", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a", "training:\n  duration: { epochs: 3 }\n"));
    const { recipe } = await loadRecipe({
      file: "recipes/a.yaml",
      folder: project.root,
      set: ["training.duration.steps=80", "model={kind: hub, id: x/y, revision: abc}"],
    });
    expect(recipe.training.duration).toEqual({ steps: 80 });
    expect(recipe.model).toEqual({ kind: "hub", id: "x/y", revision: "abc" });
  });

  it("refuses a flag for a setting that does not exist and names near ones", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a"));
    const set = ["training.lora.rnak=8", "learningRate=1", "nonsense", "training.seed=[1"];
    const problems = await problemsOf(loadRecipe({ file: "recipes/a.yaml", folder: project.root, set }));
    expect(problems[0]).toBe("--set training.lora.rnak: no such setting; did you mean training.lora.rank?");
    expect(problems[1]).toBe("--set learningRate: no such setting; did you mean training.learningRate?");
    expect(problems[2]).toContain("expected path=value");
    expect(problems[3]).toContain("not a YAML value");
  });

  it("gives a bad flag's own name as its place", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a"));
    const set = ["training.learningRate=fast"];
    const problems = await problemsOf(loadRecipe({ file: "recipes/a.yaml", folder: project.root, set }));
    expect(problems).toEqual([
      '--set training.learningRate training.learningRate: expected number, not "fast"',
    ]);
  });

  it("explains a duration that is none of its forms, or two of them", async () => {
    const project = await temporaryProject();
    const check = async (duration: string): Promise<string[]> => {
      await project.write("recipes/a.yaml", recipeText("a", `training:\n  duration: ${duration}\n`));
      return problemsOf(loadRecipe({ file: "recipes/a.yaml", folder: project.root }));
    };
    expect(await check("{ epoch: 3 }")).toEqual([
      "recipes/a.yaml:10:15 training.duration.epoch: unknown key; did you mean epochs?",
    ]);
    expect(await check("{ epochs: 3, steps: 4 }")).toEqual([
      "recipes/a.yaml:10:3 training.duration: give exactly one of epochs, steps, stepsOf",
    ]);
    expect(await check("{ epochs: -3 }")).toEqual([
      expect.stringMatching(/^recipes\/a.yaml:10:15 training.duration.epochs: too small/),
    ]);
  });

  it("tells problems between values together with the others", async () => {
    const project = await temporaryProject();
    const training = "training:\n  globalBatch: 10\n  microBatch: 4\n  zero: 2\n  sead: 1\n";
    await project.write("recipes/a.yaml", recipeText("a", training));
    const problems = await problemsOf(loadRecipe({ file: "recipes/a.yaml", folder: project.root }));
    expect(problems).toEqual([
      "recipes/a.yaml:10:3 training.globalBatch: 10 is not a multiple of training.microBatch 4",
      expect.stringContaining("recipes/a.yaml:12:3 training.zero: ZeRO stage 2"),
      "recipes/a.yaml:13:3 training.sead: unknown key; did you mean seed?",
    ]);
  });

  it("says what is missing from an empty recipe", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", "{}\n");
    const problems = await problemsOf(loadRecipe({ file: "recipes/a.yaml", folder: project.root }));
    expect(problems.map((problem) => problem.split(" ")[1])).toEqual([
      "schemaVersion:",
      "name:",
      "description:",
      "dataset.name:",
      "model:",
    ]);
  });

  it("refuses recipes that extend each other, and a parent that is missing", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", "extends: b.yaml\n");
    await project.write("recipes/b.yaml", "extends: ./a.yaml\n");
    await expect(loadRecipe({ file: "recipes/a.yaml", folder: project.root })).rejects.toMatchObject({
      code: "EXTENDS_CYCLE",
      message: "Recipes extend each other: recipes/a.yaml → recipes/b.yaml → recipes/a.yaml",
    });
    await project.write("recipes/c.yaml", "extends: gone.yaml\ntraining:\n  sead: 1\n");
    const problems = await problemsOf(loadRecipe({ file: "recipes/c.yaml", folder: project.root }));
    expect(problems).toEqual([
      `recipes/c.yaml:1:1 extends: there is no file ${join("recipes", "gone.yaml")}`,
      "recipes/c.yaml:3:3 training.sead: unknown key; did you mean seed?",
    ]);
  });

  it("says where the YAML of a parent breaks off", async () => {
    const project = await temporaryProject();
    await project.write("recipes/parent.yaml", "name: [a\n");
    await project.write("recipes/a.yaml", "extends: parent.yaml\nname: a\n");
    const problems = await problemsOf(loadRecipe({ file: "recipes/a.yaml", folder: project.root }));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^recipes\/parent.yaml:\d+:\d+ \(syntax\): /);
  });
});
