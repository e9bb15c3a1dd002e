import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execPath } from "node:process";
import { describe, expect, it } from "vitest";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeDataStage, packOnce } from "../workflow/data-stage.ts";
import type { Stage } from "../workflow/support.ts";
import { refusal } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

packOnce();

const START = ["run", "start", "recipes/quickstart.yaml"];

// A PATH with Node, as a person who runs this has, and with these programs.
const pathWith = ({ project }: Stage, scripts: Readonly<Record<string, string>>): string => {
  const folder = join(project.root, "path");
  removeFolder(folder);
  mkdirSync(folder);
  symlinkSync(execPath, join(folder, "node"));
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  return folder;
};

const said = async (stage: Stage, words: readonly string[], PATH: string): Promise<string> =>
  refusal(words, { cwd: stage.project.root, environment: { ...stage.environment, PATH }, exitCode: 2 });

describe("run start and quickstart refuse, and record no run,", () => {
  it.each([
    [
      "no Python",
      {},
      "No Python was found: looked for python3.13, ",
      "install Python 3.10 or newer, or name one",
    ],
    [
      "a Python that is too old",
      { python3: "echo /old/python3; echo 3.8.10" },
      "The payload needs Python 3.10 or newer; python3 is 3.8.10 (/old/python3)",
      "install Python 3.10 or newer, or name one in the launcher profile: python: /path/to/python3",
    ],
    [
      "a Python without venv",
      { python3: 'case "$2" in *ensurepip*) exit 1 ;; esac; echo /bare/python3; echo 3.12.1' },
      "Python 3.12.1 (/bare/python3) cannot make virtual environments: venv or ensurepip is missing",
      "on Debian and Ubuntu: apt install python3-venv",
    ],
    [
      "a Python that only looks like one",
      { python3: "exit 127", python: "echo Hello" },
      "No Python was found: looked for",
      "install Python 3.10 or newer",
    ],
  ])("%s", async (_, scripts, message, hint) => {
    const stage = await makeDataStage();
    const path = pathWith(stage, scripts);
    for (const words of [START, [...START, "--dry-run"], ["quickstart"]]) {
      const options = { cwd: stage.project.root, environment: { ...stage.environment, PATH: path } };
      const outcome = await runUnderstudy(words, options);
      expect(outcome.exitCode).toBe(2);
      expect(outcome.stderr).toContain(`error: ${message}`);
      expect(outcome.stderr).toContain(`hint: ${hint}`);
    }
    const listed = await runUnderstudy(["run", "list", "--all", "--json"], {
      cwd: stage.project.root,
      environment: stage.environment,
    });
    expect(JSON.parse(listed.stdout)).toEqual([]);
  });

  it("a Python of the profile that is not there", async () => {
    const stage = await makeDataStage();
    const profile = "schemaVersion: 1\nkind: local\ndevice: cpu\npython: /nowhere/python3\n";
    writeFileSync(join(stage.project.launchers, "local.yaml"), profile);
    const text = await said(stage, START, process.env["PATH"] ?? "");
    expect(text).toContain("No Python was found: looked for /nowhere/python3");
  });

  it("a Python environment that has lost its packages, at preflight", async () => {
    const stage = await makeDataStage();
    const program = join(stage.project.launchers, "payload", "understudy_payload", "__init__.py");
    writeFileSync(program, "import torch_that_is_not_there\n");
    const { project, environment } = stage;
    const outcome = await runUnderstudy(START, { cwd: project.root, environment });
    expect(outcome.exitCode).not.toBe(1);
    expect(outcome.stderr).toContain("torch_that_is_not_there");
    expect(outcome.stderr).toContain("\nhint: ");
  });
});
