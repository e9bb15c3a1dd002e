import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runProgram } from "../../src/core/process.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { removeFolder } from "../support/remove-folder.ts";

const complete = async (...words: string[]): Promise<string[]> => {
  const { stdout } = await runUnderstudy(["--get-completions", ...words], { cwd: "/" });
  return stdout.split("\n").filter(Boolean);
};

describe("completions", () => {
  it("offer nouns, verbs, options and choices", async () => {
    expect(await complete("")).toEqual(expect.arrayContaining(["dataset", "recipe", "completion", "--help"]));
    expect(await complete("rec")).toEqual(["recipe"]);
    expect(await complete("recipe", "")).toEqual(["check", "explain", "schema"]);
    expect(await complete("recipe", "check", "--")).toEqual(["--set", "--json", "--help"]);
    expect(await complete("completion", "z")).toEqual(["zsh"]);
  });

  it("leave files to the shell", async () => {
    expect(await complete("recipe", "check", "")).toEqual([]);
    expect(await complete("recipe", "check", "--set", "")).toEqual([]);
    expect(await complete("nonsense", "")).toEqual([]);
  });

  it("follow the shell of the environment", async () => {
    const script = async (shell: string): Promise<string> =>
      (await runUnderstudy(["completion"], { cwd: "/", environment: { SHELL: shell } })).stdout;
    expect(await script("/usr/bin/zsh")).toContain("#compdef understudy");
    expect(await script("/bin/bash")).toContain("complete -o default -F _understudy understudy");
  });

  it("work in a real bash", async () => {
    const folder = await mkdtemp(join(tmpdir(), "completion-"));
    onTestFinished(() => removeFolder(folder));
    const { stdout: script } = await runUnderstudy(["completion", "bash"], { cwd: "/" });
    // Stands in for the program: shows which words the script hands over.
    await writeFile(join(folder, "understudy"), '#!/bin/sh\nprintf "%s\\n" "$#" "$@"\n');
    await chmod(join(folder, "understudy"), 0o755);
    await writeFile(
      join(folder, "try.sh"),
      `${script}\nCOMP_WORDS=(understudy recipe "")\nCOMP_CWORD=2\n_understudy\nprintf '[%s]' "\${COMPREPLY[@]}"\n`,
    );
    const result = await runProgram(["bash", join(folder, "try.sh")], {
      env: { PATH: `${folder}:/usr/bin:/bin` },
    });
    expect(result.stdout).toMatch(/^\[3\]\[--get-completions\]\[recipe\]/);
  });
});
