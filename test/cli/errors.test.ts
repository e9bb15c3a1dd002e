import { describe, expect, it } from "vitest";
import {
  InternalError,
  PreflightError,
  RemoteError,
  UserError,
  type UnderstudyError,
} from "../../src/core/errors.ts";
import { secretsFrom } from "../../src/core/secrets.ts";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { printError } from "../../src/cli/print-error.ts";

const thrownBySystem = (code: string): Error =>
  Object.assign(new Error(`${code}: broken, open '/x'`), { code });

describe("exitCodeOf", () => {
  it.each<[UnderstudyError | Error, number]>([
    [new UserError("X", "x"), 2],
    [new PreflightError("X", "x"), 3],
    [new RemoteError("X", "x"), 4],
    [new InternalError("X", "x"), 1],
    [new UserError("BUDGET_EXCEEDED", "x"), 5],
    [new UserError("GATE_INCONCLUSIVE", "x"), 6],
    [new UserError("GATE_REGRESSION", "x"), 7],
    [new TypeError("undefined is not a function"), 1],
    [thrownBySystem("EACCES"), 2],
    [thrownBySystem("ENOENT"), 1],
  ])("%s → %i", (thrown, code) => {
    expect(exitCodeOf(thrown)).toBe(code);
  });
});

describe("printError", () => {
  const printed = (thrown: unknown, environment: Record<string, string> = {}): string => {
    let text = "";
    const sink = { write: (more: string) => void (text += more), isTerminal: false, width: 80 };
    const world = {
      cwd: "/",
      environment,
      stdout: sink,
      stderr: sink,
      clock: { now: () => 0, sleep: () => Promise.resolve() },
      fetch: globalThis.fetch,
      signal: new AbortController().signal,
    };
    printError(thrown, world, secretsFrom(environment), false);
    return text;
  };

  it("is a sentence and a hint", () => {
    expect(printed(new UserError("X", "No profile", { hint: "profiles here: local" }))).toBe(
      "error: No profile\nhint: profiles here: local\n",
    );
  });

  it("shows a stack for a bug only when asked, and says where to go with it", () => {
    const bug = new TypeError("x is undefined", { cause: new Error("deeper") });
    expect(printed(bug)).toMatch(
      /^error: x is undefined\nhint: this is a bug in Understudy: .*UNDERSTUDY_DEBUG=1.*\n$/,
    );
    const debug = printed(bug, { UNDERSTUDY_DEBUG: "1" });
    expect(debug).toContain("errors.test.ts");
    expect(debug).toContain("caused by Error: deeper");
    expect(printed(new UserError("X", "x"), { UNDERSTUDY_DEBUG: "1" })).toBe("error: x\n");
  });

  it("gives advice for what the system refused", () => {
    expect(printed(thrownBySystem("EACCES"))).toContain("hint: check the permissions of that path");
  });
});
