import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { prepareEnvironment, type EnvironmentOptions } from "../../../src/launch/far/index.ts";
import type { JobEnvironment } from "../../../src/launch/index.ts";
import type { Transport } from "../../../src/launch/transport/index.ts";
import { python as found } from "../support.ts";
import { here, makeWheel, program, temporaryFolder, world } from "./support.ts";

export const python = found.path;

const shelf = temporaryFolder().path;
export const house = join(shelf, "wheels");
const lock = makeWheel(
  house,
  {
    name: "demo-tool",
    version: "1.2",
    files: { "demo_tool.py": "def main():\n    print('demo runs')\n" },
    scripts: { "demo-tool": "demo_tool:main" },
  },
  python,
);
makeWheel(
  house,
  {
    name: "torch",
    version: "2.13.0+cpu",
    files: { "torch/__init__.py": "__version__ = '2.13.0+cpu'\nclass version:\n    cuda = None\n" },
  },
  python,
);

/**
 * The same Python, whose `-m venv` takes a copy of an environment made once: unpacking pip takes seconds each time. Each use is
 * written down in the file `made` beside it.
 */
export const quickPython = (folder: string, name = "quick-python"): string => {
  const template = join(shelf, "template");
  if (!existsSync(template)) execFileSync(python, ["-m", "venv", template]);
  const path = join(folder, name);
  mkdirSync(folder, { recursive: true });
  return program(
    path,
    [
      "#!/bin/sh",
      `if [ "$2" = venv ]; then echo made >>'${join(folder, "made")}' && exec cp -a '${template}' "$3"; fi`,
      `exec '${python}' "$@"`,
      "",
    ].join("\n"),
  );
};

const folders: string[] = [];

// A build outlives whoever started it, a failed test too.
afterAll(() => {
  for (const folder of folders) {
    for (const build of existsSync(`${folder}.lock`) ? readdirSync(`${folder}.lock`) : []) {
      if (!/^\d+$/.test(build)) continue;
      try {
        process.kill(ownerOf(folder, Number(build)), "SIGTERM");
      } catch {
        // It has ended.
      }
    }
  }
});

export interface Place {
  readonly environment: JobEnvironment;
  readonly folder: string;
  readonly lines: string[];
  prepare(changes?: Partial<EnvironmentOptions>, transport?: Transport): Promise<void>;
  /** What `prepare` throws. */
  refusal(): Promise<unknown>;
  /** What somebody can do with the finished environment. */
  run(...argv: readonly string[]): string;
}

/** A place for an environment with its lock files, torch's first. */
export const place = (changes: Partial<JobEnvironment> = {}, at: string = temporaryFolder().path): Place => {
  const torch = join(at, "requirements-torch.lock");
  const rest = join(at, "requirements.lock");
  writeFileSync(torch, "torch==2.13.0\n");
  writeFileSync(rest, `${lock}absent==9 ; python_version < "3"\n`);
  const environment: JobEnvironment = {
    folder: join(at, "shared envs", "abc"),
    python: changes.python ?? quickPython(at),
    locks: [torch, rest],
    wheelhouse: house,
    device: "cpu",
    ...changes,
  };
  const { folder } = environment;
  folders.push(folder);
  const lines: string[] = [];
  const options = {
    umask: "0022",
    signal: new AbortController().signal,
    onLine: (line: string) => lines.push(line),
    world,
  };
  const prepare: Place["prepare"] = async (more = {}, transport = here()) =>
    prepareEnvironment(transport, environment, { ...options, ...more });
  return {
    environment,
    folder,
    lines,
    prepare,
    refusal: async () =>
      prepare().then(
        () => undefined,
        (error: unknown) => error,
      ),
    run: (name = "", ...args) => execFileSync(join(folder, "bin", name), args, { encoding: "utf8" }),
  };
};

/** What a build may leave beside its environment: nothing. */
export const leftBeside = (folder: string): string[] =>
  readdirSync(join(folder, "..")).filter((name) => name !== "abc");

/** Process of a build. */
export const ownerOf = (folder: string, build: number): number =>
  Number(readFileSync(join(`${folder}.lock`, String(build), "owner"), "utf8").split(" ")[1]);
