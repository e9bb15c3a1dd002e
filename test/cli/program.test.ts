import { describe, expect, it } from "vitest";
import { runUnderstudy } from "../support/run-understudy.ts";
import { temporaryProject } from "../support/temporary-project.ts";
import { recipeText, specText } from "../support/recipes.ts";

const SHORT = "training:\n  globalBatch: 8\n  duration: { steps: 40 }\nevaluation:\n  everySteps: 10\n";

describe("runUnderstudy", () => {
  it("asks what an unknown command was meant to be", async () => {
    const verb = await runUnderstudy(["recipe", "chek"], { cwd: "/" });
    expect(verb.exitCode).toBe(2);
    expect(verb.stdout).toBe("");
    expect(verb.stderr).toBe(
      'error: There is no command "recipe chek"; did you mean recipe check?\n' +
        "hint: see all commands: understudy recipe --help\n",
    );
    const noun = await runUnderstudy(["recipee", "check"], { cwd: "/" });
    expect(noun.stderr).toContain('no command "recipee"; did you mean recipe?');
  });

  it("prints the version of the package", async () => {
    const { stdout } = await runUnderstudy(["--version"], { cwd: "/" });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("gives errors to scripts as JSON on stdout and says nothing else", async () => {
    const project = await temporaryProject();
    const { exitCode, stdout, stderr } = await runUnderstudy(["recipe", "check", "gone.yaml", "--json"], {
      cwd: project.root,
    });
    expect(exitCode).toBe(2);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "FILE_MISSING", message: "There is no recipe gone.yaml" },
    });
  });

  it("gives usage errors as JSON too", async () => {
    const { exitCode, stdout, stderr } = await runUnderstudy(["recipe", "check", "--json", "--seet", "a"], {
      cwd: "/",
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: "USAGE", message: "Unknown option --seet; did you mean --set?" },
    });
  });

  it("ends with 130 when it was interrupted, whatever broke because of it", async () => {
    const project = await temporaryProject();
    const controller = new AbortController();
    controller.abort(new Error("Interrupted"));
    const { exitCode, stderr } = await runUnderstudy(["recipe", "check", "gone.yaml"], {
      cwd: project.root,
      signal: controller.signal,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: "interrupted\n" });
  });

  it("refuses to work outside of a project", async () => {
    const project = await temporaryProject();
    await project.write("loose.yaml", recipeText("loose", SHORT));
    const { exitCode, stderr } = await runUnderstudy(["recipe", "schema", "--write"], { cwd: "/" });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("error: / is not inside a project\nhint: a project is a folder with recipes");
  });

  it("uses colour on a terminal unless NO_COLOR is set", async () => {
    const project = await temporaryProject();
    await project.write("datasets/toy.yaml", specText("toy", 64, 16));
    await project.write("recipes/a.yaml", recipeText("a", SHORT));
    const run = (environment: Record<string, string>, isTerminal: boolean): Promise<string> =>
      runUnderstudy(["recipe", "explain", "recipes/a.yaml"], {
        cwd: project.root,
        environment,
        isTerminal,
      }).then(({ stdout, stderr }) => stdout + stderr);
    expect(await run({}, true)).toContain("\u001b[1m");
    expect(await run({ NO_COLOR: "1" }, true)).not.toContain("\u001b");
    expect(await run({ TERM: "dumb" }, true)).not.toContain("\u001b");
    expect(await run({}, false)).not.toContain("\u001b");
    expect(await run({ NO_COLOR: "" }, true)).toContain("\u001b[1m");
  });

  it("never prints a secret", async () => {
    const project = await temporaryProject();
    const { stderr } = await runUnderstudy(["recipe", "check", "hunter2hunter2.yaml"], {
      cwd: project.root,
      environment: { SOME_TOKEN: "hunter2hunter2" },
    });
    expect(stderr).toBe("error: There is no recipe [SOME_TOKEN].yaml\n");
  });
});
