import { existsSync } from "node:fs";
import { env } from "node:process";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..", "..");

/**
 * The Python that independent readers run in: UNDERSTUDY_TEST_PYTHON, else the environment that `npm test` makes from
 * requirements-test.lock. Undefined where there is none.
 */
export const testPython = (): string | undefined => {
  const path = env["UNDERSTUDY_TEST_PYTHON"] ?? join(root, ".understudy", "test-env", "bin", "python");
  return existsSync(path) ? path : undefined;
};
