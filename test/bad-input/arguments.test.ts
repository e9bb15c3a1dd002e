import { describe, expect, it } from "vitest";
import { temporaryProject } from "../support/temporary-project.ts";
import { refusal } from "./support.ts";

describe("a name that nothing has", () => {
  it.each([
    [["run", "show", "nope"], 'There is no run "nope"', "understudy run list"],
    [["run", "logs", "nope"], 'There is no run "nope"', "understudy run list"],
    [["run", "stop", "nope"], 'There is no run "nope"', "understudy run list"],
    [["run", "resume", "nope"], 'There is no run "nope"', "understudy run list"],
    [["eval", "start", "nope"], 'There is no run "nope"', "understudy run list"],
    [["report", "build", "nope"], 'There is no run "nope"', "understudy run list"],
    [["checkpoint", "list", "../../etc"], 'There is no run "../../etc"', "understudy run list"],
    [["checkpoint", "verify", "nope@100"], "There is no checkpoint nope@100", "understudy run list"],
    [["checkpoint", "verify", "nope"], '"nope" is not a checkpoint id', "RUN@STEP"],
    [["checkpoint", "verify", "../../x@1"], '"../../x@1" is not a checkpoint id', "RUN@STEP"],
    [["dataset", "show", "nope"], 'There is no data set named "nope"', "data sets here: none"],
    [["dataset", "pack", "../x"], 'There is no data set named "../x"', "data sets here: none"],
    [["report", "bulid", "x"], 'There is no command "report bulid"; did you mean report build?', "--help"],
  ])("%j", async (words, message, hint) => {
    const { root } = await temporaryProject();
    const text = await refusal(words, { cwd: root, exitCode: 2 });
    expect(text).toContain(`error: ${message}`);
    expect(text.split("\nhint: ")[1]).toContain(hint);
  });
});

describe("outside of a project", () => {
  it.each([
    ["run", "list"],
    ["run", "start", "x.yaml"],
    ["eval", "start", "x"],
    ["dataset", "pack", "x"],
    ["checkpoint", "list", "x"],
    ["quickstart"],
  ])("%s %s is refused, and nothing is made", async (...words) => {
    const text = await refusal(words, { cwd: "/", exitCode: 2 });
    expect(text).toContain("error: / is not inside a project\nhint: a project is a folder with recipes");
  });
});

describe("arguments that no shell completes", () => {
  it.each([
    [["run", "show", "a\nb"], '<run> holds a control character: "a\\nb"'],
    [["run", "show", "\u001b[2J"], '<run> holds a control character: "\\u001b[2J"'],
    [["recipe", "check", "\u001b]0;title\u0007"], "<file> holds a control character"],
    [["run", "start", "a.yaml", "--on", "a\rb"], '--on holds a control character: "a\\rb"'],
    [["run", "start", "a.yaml", "--set", "training.seed=\u0000"], "--set holds a control character"],
    [["run", "show", ""], "<run> is empty: Run id"],
    [["recipe", "check", "a.yaml", "--set"], "--set needs a value"],
    [["run", "start", "a.yaml", "--dry-run=no"], '--dry-run takes no value, but was given "no"'],
  ])("%j", async (words, message) => {
    const { root } = await temporaryProject();
    expect(await refusal(words, { cwd: root, exitCode: 2 })).toContain(`error: ${message}`);
  });

  it("are shown without moving the cursor where they are no argument of ours", async () => {
    const text = await refusal(["\u001b[31mred", "x\u0007"], { cwd: "/", exitCode: 2 });
    expect(text).toContain('There is no command "\\u001b[31mred"');
  });

  it("may be longer than any file name", async () => {
    const { root } = await temporaryProject();
    const long = "a".repeat(5000);
    expect(
      await refusal(["recipe", "check", `${long}.yaml`], { cwd: root, exitCode: 2, hint: false }),
    ).toContain("There is no recipe aaa");
    expect(await refusal(["run", "show", long], { cwd: root, exitCode: 2 })).toContain("There is no run");
    expect(
      await refusal(["run", "start", "x.yaml", "--on", long], { cwd: root, exitCode: 2, hint: false }),
    ).toContain("There is no recipe x.yaml");
    expect(await refusal(["dataset", "show", long], { cwd: root, exitCode: 2 })).toContain(
      "There is no data set",
    );
  });
});
