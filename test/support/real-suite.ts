import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it } from "vitest";

interface Needs {
  readonly programs: readonly string[];
  /** For users, namespaces and daemons of the system. */
  readonly root?: boolean;
}

/**
 * A suite that runs against programs of this machine. Where one is missing it is skipped under a name that says so; with
 * UNDERSTUDY_SKIPS=fail that is a failure.
 */
export const realSuite = (name: string, needs: Needs, body: () => void): void => {
  const missing = needs.programs.filter((program) => programPath(program) === undefined);
  if (needs.root === true && process.getuid?.() !== 0) missing.push("root");
  if (missing.length === 0) {
    describe(name, body);
    return;
  }
  const lack = `not here: ${missing.join(", ")}`;
  if (process.env["UNDERSTUDY_SKIPS"] === "fail") {
    it(`${name} (${lack})`, () => {
      throw new Error(`${name} cannot run; ${lack}`);
    });
  } else describe.skip(`${name} (${lack})`, body);
};

/** Where a program lies, on PATH or where daemons are kept. */
export const programPath = (program: string): string | undefined =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"]
    .map((folder) => join(folder, program))
    .find(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
