import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { messageOf } from "../../src/core/errors.ts";
import { sha256 } from "../../src/core/hash.ts";
import { withProcessLock } from "../../src/core/process-lock.ts";
import { runProgram } from "../../src/core/process.ts";
import { findPython } from "../../src/launch/index.ts";

const root = resolve(import.meta.dirname, "../..");
const requirements = join(import.meta.dirname, "requirements-datasets-3.txt");

/** An environment with an old `datasets`, made once for each content of its requirements; or why there is none. */
const installed: string | { readonly why: string } = await install();

/**
 * A suite that needs it; `python` is its interpreter. Where it cannot be installed the suite is skipped under a name that says
 * so; with UNDERSTUDY_SKIPS=fail that is a failure.
 */
export const oldDatasetsSuite = (name: string, body: (python: string) => void): void => {
  if (typeof installed === "string") {
    describe(name, () => body(installed));
    return;
  }
  const full = `${name} (datasets 3 is not here: ${installed.why})`;
  if (process.env["UNDERSTUDY_SKIPS"] === "fail") {
    it(full, () => {
      throw new Error(full);
    });
  } else describe.skip(full, () => body("python3"));
};

async function install(): Promise<string | { readonly why: string }> {
  const tools = join(root, ".understudy/test-tools");
  const folder = join(tools, `datasets-3-${sha256(readFileSync(requirements)).slice(0, 12)}`);
  const python = join(folder, "bin/python");
  try {
    if (existsSync(python)) return python;
    await mkdir(tools, { recursive: true });
    return await withProcessLock(join(tools, "datasets-3-lock"), { clock: systemClock }, async () => {
      if (!existsSync(python)) await build(folder);
      return python;
    });
  } catch (error) {
    return { why: messageOf(error).split("\n").at(-1) ?? "" };
  }
}

async function build(folder: string): Promise<void> {
  const staged = `${folder}.part`;
  await rm(staged, { recursive: true, force: true });
  const { path } = await findPython(process.env);
  await mustRun([path, "-m", "venv", staged]);
  // Run as modules only, so that the folder can be renamed.
  const quiet = ["-q", "--disable-pip-version-check", "--only-binary", ":all:"];
  await mustRun([join(staged, "bin/python"), "-m", "pip", "install", ...quiet, "-r", requirements]);
  await rename(staged, folder);
}

async function mustRun(argv: readonly [string, ...string[]]): Promise<void> {
  const done = await runProgram(argv, { env: process.env, timeout: 600_000 });
  if (done.exitCode !== 0) throw new Error(done.stderr.trim().split("\n").at(-1) ?? "no words");
}
