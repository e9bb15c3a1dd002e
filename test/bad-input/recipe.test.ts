import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recipeText, specText } from "../support/recipes.ts";
import { temporaryProject } from "../support/temporary-project.ts";
import { makeDataStage, packOnce } from "../workflow/data-stage.ts";
import { refusal } from "./support.ts";

packOnce();

const LAUGHS = Array.from({ length: 9 }, (_, at) => {
  const below = at === 0 ? "ha" : `*x${at - 1}`;
  return `x${at}: &x${at} [${Array.from({ length: 9 }, () => below).join(", ")}]`;
}).join("\n");

const files: readonly (readonly [string, string | Uint8Array, string])[] = [
  ["an empty file", "", "a.yaml:1:1 (whole file): the file is empty; expected keys and values"],
  ["nothing but comments", "# later\n", "(whole file): the file is empty"],
  ["a list", "- name: a\n", "a.yaml:1:1 (whole file): expected keys and values"],
  ["aliases that multiply", `${LAUGHS}\n`, "a.yaml:1:1 (syntax): its aliases multiply to too many values"],
  ["an alias that contains itself", "training: &t\n  lora: *t\n", "(syntax): an alias contains itself"],
  [
    "an alias that leads nowhere",
    "name: *gone\n",
    "Unresolved alias (the anchor must be set before the alias): gone",
  ],
  [
    "two documents",
    "name: a\n---\nname: b\n",
    "a.yaml:2:1 (syntax): a second document begins here; a file holds one",
  ],
  ["brackets in brackets", `name: ${"[".repeat(5000)}\n`, "(syntax): nested too deeply"],
  ["a tab", "training:\n\tseed: 1\n", "a.yaml:2:1 (syntax): Tabs are not allowed as indentation"],
  ["the same key twice", "name: a\nname: b\n", "a.yaml:2:1 (syntax): Map keys must be unique"],
  [
    "text in another encoding",
    Buffer.from("name: a\ndescription: caf\xe9\n", "latin1"),
    "a.yaml:2:17 (syntax): this is not UTF-8 text",
  ],
  [
    "text of UTF-16",
    Buffer.from("\ufeffname: a\n", "utf16le"),
    "a.yaml:1:1 (syntax): this is not UTF-8 text",
  ],
  [
    "a key with a control character",
    recipeText("a", '"x\\u001b[2J": 1\n'),
    "a.yaml:9:1 x\\u001b[2J: unknown key",
  ],
];

describe("recipe check and run start refuse", () => {
  it.each(files)("%s", async (_, content, problem) => {
    const project = await temporaryProject();
    await writeFile(join(project.root, "a.yaml"), content);
    for (const words of [
      ["recipe", "check"],
      ["recipe", "explain"],
      ["run", "start"],
    ]) {
      const text = await refusal([...words, "a.yaml"], { cwd: project.root, exitCode: 2, hint: false });
      expect(text).toContain(problem);
    }
  });

  it("three mistakes at once, each with its place", async () => {
    const project = await temporaryProject();
    const mistakes =
      "training:\n  learningRat: 1.0e-4\n  precision: bf61\nevaluation:\n  everySteps: often\n";
    await project.write("recipes/bad.yaml", recipeText("bad", mistakes));
    const text = await refusal(["run", "start", "recipes/bad.yaml"], {
      cwd: project.root,
      exitCode: 2,
      hint: false,
    });
    expect(text).toBe(
      [
        "error: recipes/bad.yaml has 3 problems:",
        "  recipes/bad.yaml:10:3 training.learningRat: unknown key; did you mean learningRate?",
        '  recipes/bad.yaml:11:3 training.precision: expected bf16 or fp32, not "bf61"',
        '  recipes/bad.yaml:13:3 evaluation.everySteps: expected number, not "often"',
        "",
      ].join("\n"),
    );
  });

  it("a path that is a folder, or lies below a file, or is not there", async () => {
    const project = await temporaryProject();
    await project.write("recipes/a.yaml", recipeText("a"));
    const said = (path: string): Promise<string> =>
      refusal(["recipe", "check", path], { cwd: project.root, exitCode: 2, hint: false });
    expect(await said("recipes")).toContain(`error: ${project.recipes} is a folder; a file was expected`);
    expect(await said("recipes/a.yaml/b")).toContain("error: There is no recipe recipes/a.yaml/b");
    expect(await said("recipes/gone.yaml")).toBe(
      "error: There is no recipe recipes/gone.yaml\nhint: recipes there: recipes/a.yaml\n",
    );
  });

  it("a parent, or a recipe to take the steps from, that is not there, naming who asks for it", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", "training:\n  duration: { stepsOf: gone.yaml }\n"));
    const text = await refusal(["recipe", "check", "recipes/a.yaml"], { cwd: project.root, exitCode: 2 });
    expect(text).toContain(
      "recipes/a.yaml:10:15 training.duration.stepsOf: There is no recipe recipes/gone.yaml",
    );
    await mkdir(join(project.recipes, "folder"));
    await project.write("recipes/b.yaml", "extends: folder\nname: b\n");
    expect(
      await refusal(["recipe", "check", "recipes/b.yaml"], { cwd: project.root, exitCode: 2, hint: false }),
    ).toContain("folder is a folder; a file was expected");
  });

  it.each([
    ["nonsense", "--set nonsense: expected path=value, e.g. training.seed=7"],
    ["=7", "--set =7: expected path=value"],
    ["", "--set: expected path=value"],
    ["training.sead=7", "--set training.sead: no such setting; did you mean training.seed or "],
    ["__proto__.x=7", "--set __proto__.x: no such setting"],
    ["training.seed=", "--set training.seed: expected number, not null"],
    ["training.seed=lucky", '--set training.seed: expected number, not "lucky"'],
    ["training.seed=1e999", "--set training.seed: expected number, not Infinity"],
    ["training.learningRate=.nan", "--set training.learningRate: expected number, not NaN"],
    ["training.seed=*a", "--set training.seed: not a YAML value: Unresolved alias"],
    ["training.seed=&a [*a]", "--set training.seed: not a YAML value: an alias contains itself"],
    ["training=7", "--set training: expected object, not 7"],
  ])("--set %j", async (override, problem) => {
    const project = await temporaryProject();
    await project.write("a.yaml", recipeText("a"));
    for (const words of [
      ["recipe", "check"],
      ["run", "start"],
    ]) {
      const text = await refusal([...words, "a.yaml", "--set", override], {
        cwd: project.root,
        exitCode: 2,
        hint: false,
      });
      expect(text).toContain(`\n  ${problem}`);
    }
  });

  it("an evaluation interval longer than the run, with the arithmetic", async () => {
    const { project, environment } = await makeDataStage();
    for (const words of [
      ["recipe", "check"],
      ["run", "start"],
    ]) {
      const set = [
        "training.globalBatch=8",
        "training.duration.steps=80",
        "evaluation.everySteps=81",
      ].flatMap((text) => ["--set", text]);
      const text = await refusal([...words, "recipes/quickstart.yaml", ...set], {
        cwd: project.root,
        environment,
        exitCode: 2,
      });
      expect(text).toBe(
        "error: --set evaluation.everySteps is 81, but the whole run has 80 steps " +
          "(64 rows / 8 a step = 8 steps an epoch, 10 epochs)\n" +
          "hint: evaluate every 16 steps to get about five checkpoints\n",
      );
    }
  });

  it("a published model that is not on this machine, with the command that brings it", async () => {
    const { project, environment } = await makeDataStage();
    const model = "model={kind: hub, id: Org/Omni, revision: abc123}";
    const text = await refusal(["run", "start", "recipes/quickstart.yaml", "--set", model], {
      cwd: project.root,
      environment,
      exitCode: 2,
    });
    const folder = join(project.state, "models", "Org--Omni@abc123");
    expect(text).toBe(
      "error: The weights of Org/Omni at abc123 are not on this machine\n" +
        `hint: download them once: hf download Org/Omni --revision abc123 --local-dir ${folder}\n`,
    );
  });
});

describe("run start refuses the profile", () => {
  it.each([
    [
      "schemaVersion: 1\nkind: local\nprocesses: 0\ndevcie: cpu\n",
      [
        "local.yaml:3:1 processes: too small: expected number to be >0, not 0",
        "local.yaml:4:1 devcie: unknown key",
      ],
    ],
    [
      "schemaVersion: 1\nkind: slrum\n",
      ['local.yaml:2:1 kind: expected local or ssh or slurm or sagemaker, not "slrum"'],
    ],
    ["", ["local.yaml:1:1 (whole file): the file is empty; expected keys and values"]],
    ["kind: [local\n", ["local.yaml:2:1 (syntax): "]],
    [`${LAUGHS}\n`, ["its aliases multiply to too many values"]],
  ])("%j", async (content, problems) => {
    const { project, environment } = await makeDataStage();
    await writeFile(join(project.launchers, "local.yaml"), content);
    const text = await refusal(["run", "start", "recipes/quickstart.yaml"], {
      cwd: project.root,
      environment,
      exitCode: 2,
      hint: false,
    });
    for (const problem of problems) expect(text).toContain(problem);
  });

  it("that nobody has, naming those there are", async () => {
    const { project, environment } = await makeDataStage();
    const text = await refusal(["run", "start", "recipes/quickstart.yaml", "--on", "sulrm"], {
      cwd: project.root,
      environment,
      exitCode: 2,
    });
    expect(text).toBe('error: No launcher profile named "sulrm"\nhint: profiles here: local\n');
  });
});
