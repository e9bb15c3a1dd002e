import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { layoutAt, WrapperResult, type AttemptLayout } from "../../src/launch/index.ts";
import { sweep, temporaryFolder, until, wrapperPath } from "./support.ts";

describe("a STOP file that comes without a signal", () => {
  afterEach(async () => {
    await sweep("m-stop");
  });

  const attempt = (): AttemptLayout => {
    const layout = layoutAt(join(temporaryFolder().path, "attempts/1"));
    mkdirSync(layout.folder, { recursive: true });
    return layout;
  };

  /** Runs a program under the wrapper; `meanwhile` is called when it has said `up`. Its result. */
  const run = async (
    layout: AttemptLayout,
    request: {
      readonly program: string;
      readonly grace: number;
      readonly shell?: string;
      readonly meanwhile?: () => void;
    },
  ): Promise<WrapperResult> => {
    const args = [
      ["--run", layout.run, "--attempt", "1", "--marker", "m-stop", "--token", "t", "--keep", "PATH"],
      ["--grace", String(request.grace), "--", "/bin/sh", "-c", `echo up; ${request.program}`],
    ];
    const child = spawn(request.shell ?? "/bin/sh", [wrapperPath, ...args.flat()], {
      detached: true,
      stdio: "ignore",
    });
    const closed = new Promise((resolve) => child.once("close", resolve));
    await until(async () =>
      existsSync(layout.log) && readFileSync(layout.log, "utf8").includes("up") ? true : undefined,
    );
    request.meanwhile?.();
    await closed;
    return WrapperResult.parse(JSON.parse(readFileSync(layout.result, "utf8")));
  };

  const HUNG = "sleep 60";

  it.each(["/bin/sh", "/bin/bash"])(
    "before the program starts begins its time of grace, under %s",
    async (shell) => {
      const layout = attempt();
      writeFileSync(layout.stop, "cancel\n");
      expect(await run(layout, { program: HUNG, grace: 1, shell })).toMatchObject({
        reason: "signalled",
        signal: "SIGTERM",
      });
      expect(readFileSync(layout.stop, "utf8")).toBe("cancel\n");
    },
  );

  it.each(["/bin/sh", "/bin/bash"])("while it runs likewise, under %s", async (shell) => {
    const layout = attempt();
    const meanwhile = (): void => writeFileSync(layout.stop, "cancel\n");
    expect(await run(layout, { program: HUNG, grace: 1, shell, meanwhile })).toMatchObject({
      reason: "signalled",
      signal: "SIGTERM",
    });
  });

  it("leaves a program that heeds it its own exit code", async () => {
    const layout = attempt();
    const program = `until [ -e ${layout.stop} ]; do sleep 0.05; done; sleep 3; exit 3`;
    const meanwhile = (): void => writeFileSync(layout.stop, "cancel\n");
    expect(await run(layout, { program, grace: 60, meanwhile })).toMatchObject({
      reason: "exited",
      exitCode: 3,
    });
  });
});
