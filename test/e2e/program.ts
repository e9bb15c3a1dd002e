import { execFileSync, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt, type Project } from "../../src/core/project.ts";
import { loadProfile, preparePython } from "../../src/launch/index.ts";
import { removeFolder } from "../support/remove-folder.ts";

const repository = resolve(import.meta.dirname, "../..");

/** A recipe of seconds: the quickstart's, with fewer steps and shorter answers. */
const recipe = (name: string, steps: number): string => `schemaVersion: 1
extends: quickstart.yaml
name: ${name}
description: The quickstart in a few seconds, for a test
training:
  duration:
    steps: ${steps}
evaluation:
  everySteps: 4
  logEverySteps: 1
  decoding:
    maxNewTokens: 6
    talkerMaxNewTokens: 12
`;

/** The program as `npm run build` makes it, in a folder of its own. */
export const buildProgram = (): { readonly main: string; remove(): void } => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-e2e-build-"));
  for (const name of ["node_modules", "package.json"])
    symlinkSync(join(repository, name), join(folder, name));
  execFileSync(process.execPath, [join(repository, "scripts", "build.js"), join(folder, "dist")]);
  return {
    main: join(folder, "dist", "program", "main.js"),
    remove: () => removeFolder(folder),
  };
};

/** Makes the payload's environment in this repository, where it is not there yet, for all pipelines to share. */
export const sharedEnvironments = async (): Promise<string> => {
  const project = projectAt(repository);
  await preparePython({
    project,
    payload: join(project.launchers, "payload"),
    profile: await loadProfile(project, "local"),
    environment: process.env,
    clock: systemClock,
    onLine: () => undefined,
  });
  return join(project.state, "environments");
};

/** A project of its own: this repository's folders with the real payload and the sample corpus. */
export const makeProject = (environments: string): Project => {
  const root = mkdtempSync(join(tmpdir(), "understudy-e2e-"));
  const project = projectAt(root);
  for (const name of ["recipes", "launchers", "checkpoints"]) copy(name, root);
  for (const name of ["greenroom", "greenroom.yaml", "greenroom.lock.json"])
    copy(join("datasets", name), root);
  writeFileSync(join(project.recipes, "e2e.yaml"), recipe("e2e", 12));
  writeFileSync(join(project.recipes, "later.yaml"), recipe("later", 4));
  mkdirSync(project.state);
  symlinkSync(environments, join(project.state, "environments"));
  return project;
};

function copy(name: string, root: string): void {
  const wanted = (path: string): boolean => !/__pycache__|payload\/tests/.test(path);
  cpSync(join(repository, name), join(root, name), { recursive: true, filter: wanted });
}

export interface Program {
  readonly child: ChildProcess;
  /** What it has printed. */
  text(): string;
  /** Exit code, or the signal it died of. */
  readonly ended: Promise<number | string | null>;
}

export const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** Waits for a moment, closely enough to hit a save; gives up after a time that no healthy machine needs. */
export const moment = async (what: string, arrived: () => boolean, program?: Program): Promise<void> => {
  let over = false;
  void program?.ended.then(() => (over = true));
  const deadline = Date.now() + 300_000;
  while (!arrived()) {
    if (over) throw new Error(`the program ended before: ${what}\n${program?.text() ?? ""}`);
    if (Date.now() > deadline) throw new Error(`it never came to: ${what}\n${program?.text() ?? ""}`);
    await systemClock.sleep(4);
  }
};
