import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recipeText, specText } from "../support/recipes.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { temporaryProject } from "../support/temporary-project.ts";

const training = (everySteps: number): string =>
  `training:\n  globalBatch: 8\n  duration: { epochs: 5 }\nevaluation:\n  everySteps: ${everySteps}\n`;

describe("recipe check", () => {
  it("prints steps and evaluations, and that the counts are only expected", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", training(10)));
    const { exitCode, stdout, stderr } = await runUnderstudy(["recipe", "check", "recipes/a.yaml"], {
      cwd: project.root,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toBe(
      [
        "recipes/a.yaml is valid",
        "  data set     toy, train: not packed yet, so rows are those its spec expects (understudy dataset pack toy)",
        "  steps        40 (64 expected rows / 8 a step = 8 steps an epoch, 5 epochs)",
        "  evaluations  4, every 10 steps and after the last one",
        "",
      ].join("\n"),
    );
  });

  it("finds the project of the recipe from anywhere", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    const file = await project.write("recipes/a.yaml", recipeText("a", training(10)));
    const { stdout } = await runUnderstudy(["recipe", "check", file, "--json"], { cwd: "/" });
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      plan: { steps: 40, evaluations: 4 },
      warnings: [],
    });
  });

  it("prints three mistakes with their places and ends with 2", async () => {
    const project = await temporaryProject();
    const mistakes =
      "training:\n  learningRat: 1.0e-4\n  precision: bf61\nevaluation:\n  everySteps: often\n";
    await project.write("recipes/bad.yaml", recipeText("bad", mistakes));
    const { exitCode, stdout, stderr } = await runUnderstudy(["recipe", "check", "bad.yaml"], {
      cwd: project.recipes,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toBe(
      [
        "error: bad.yaml has 3 problems:",
        "  bad.yaml:10:3 training.learningRat: unknown key; did you mean learningRate?",
        '  bad.yaml:11:3 training.precision: expected bf16 or fp32, not "bf61"',
        '  bad.yaml:13:3 evaluation.everySteps: expected number, not "often"',
        "",
      ].join("\n"),
    );
  });

  it("warns on stderr, or inside the JSON", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", training(40)));
    const people = await runUnderstudy(["recipe", "check", "recipes/a.yaml"], { cwd: project.root });
    expect(people.stderr).toContain("warning: only 1 evaluation in 40 steps");
    const script = await runUnderstudy(["recipe", "check", "recipes/a.yaml", "--json"], {
      cwd: project.root,
    });
    expect(script.stderr).toBe("");
    expect(JSON.parse(script.stdout)).toMatchObject({
      warnings: [expect.stringContaining("only 1 evaluation")],
    });
  });
});

describe("recipe explain", () => {
  it("shows origin and place of each value", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", training(10)));
    const words = ["recipe", "explain", "recipes/a.yaml", "--set", "training.seed=9"];
    const { exitCode, stdout } = await runUnderstudy(words, { cwd: project.root });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^training\.precision +bf16 +paper +published \(SpeechRole, arXiv 2508\.02013\)$/m,
    );
    expect(stdout).toMatch(/^training\.globalBatch +8 +file +recipes\/a\.yaml:10:3$/m);
    expect(stdout).toMatch(/^training\.seed +9 +flag +--set training\.seed$/m);
    expect(stdout).toMatch(
      /^training\.lora\.rank +64 +ours +not published; 161 M adapter parameters of a 7B model$/m,
    );
    expect(stdout).toMatch(/^ {2}steps +40$/m);
    const json = await runUnderstudy([...words, "--json"], { cwd: project.root });
    expect(JSON.parse(json.stdout)).toMatchObject({ name: "a", derived: { steps: 40 } });
  });
});

describe("recipe schema", () => {
  it("writes three files, once", async () => {
    const project = await temporaryProject();
    const write = (): ReturnType<typeof runUnderstudy> =>
      runUnderstudy(["recipe", "schema", "--write"], { cwd: project.root });
    expect((await write()).stdout.trim().split("\n")).toHaveLength(3);
    expect((await write()).stdout).toBe("all schemas are current\n");
    const printed = await runUnderstudy(["recipe", "schema"], { cwd: project.root });
    expect(await readFile(join(project.recipes, "recipe.schema.json"), "utf8")).toBe(printed.stdout);
  });
});
