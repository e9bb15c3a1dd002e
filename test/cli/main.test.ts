import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { access, cp, mkdtemp, open, symlink, utimes, writeFile, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runProgram, type CommandResult } from "../../src/core/process.ts";
import { removeFolder } from "../support/remove-folder.ts";

const root = join(import.meta.dirname, "../..");
let installed = "";

// The program as it is installed: compiled, started by its bin file, beside its package.json.
beforeAll(async () => {
  installed = await mkdtemp(join(tmpdir(), "installed-"));
  await symlink(join(root, "node_modules"), join(installed, "node_modules"));
  await cp(join(root, "package.json"), join(installed, "package.json"));
  await cp(join(root, "bin"), join(installed, "bin"), { recursive: true });
});
afterAll(() => removeFolder(installed));

const understudy = (...words: string[]): Promise<CommandResult> =>
  runProgram([process.execPath, join(installed, "bin/understudy.js"), ...words], {
    cwd: root,
    env: { PATH: process.env["PATH"] },
  });

describe("the program as installed", () => {
  it("says what to do while it is not built", async () => {
    const { exitCode, stderr } = await understudy("--version");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("error: Understudy is not built yet\nhint: run npm ci && npm run build");
  });

  it("runs once it is built", async () => {
    const build = async (folder = join(installed, "dist")): Promise<CommandResult> =>
      runProgram([process.execPath, join(root, "scripts", "build.js"), folder], {
        cwd: installed,
        env: { PATH: process.env["PATH"] },
      });
    expect(await build()).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await build(join(installed, "bin"))).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("nothing is deleted"),
    });
    // Rebuilt under a program that runs: what it may yet load stays, what nobody can run any more goes.
    const [young, old] = ["young-00000000.js", "old-00000000.js"].map((name) =>
      join(installed, "dist", "program", name),
    );
    for (const path of [young, old]) await writeFile(path ?? "", "");
    await utimes(old ?? "", 1, 1);
    await build();
    await expect(access(young ?? "")).resolves.toBeUndefined();
    await expect(access(old ?? "")).rejects.toMatchObject({ code: "ENOENT" });
    expect((await understudy("--version")).stdout).toMatch(/^\d+\.\d+\.\d+$/);
    const wrong = await understudy("recipe", "check", "recipes/gone.yaml");
    expect(wrong).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /^error: There is no recipe recipes\/gone\.yaml\nhint: recipes there: .*recipes\/quickstart\.yaml/,
      ),
    });
  });

  it("takes a reader that leaves early as no failure", async () => {
    const command = `"${process.execPath}" "${join(installed, "bin/understudy.js")}" recipe schema | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const output = await new Promise<{ stdout: string; stderr: string }>((resolve, reject) => {
      execFile("bash", ["-c", command], { cwd: root }, (error, stdout, stderr) =>
        error ? reject(error) : resolve({ stdout, stderr }),
      );
    });
    expect(output).toEqual({ stdout: "{\n0\n", stderr: "" });
  });

  // A pipe without a writer holds the program still in the middle of a command, for as long as a test needs.
  const heldStill = async (name: string): Promise<{ child: ChildProcess; pipe: FileHandle }> => {
    const fifo = join(installed, `${name}.yaml`);
    await runProgram(["mkfifo", fifo], { env: { PATH: process.env["PATH"] } });
    const child = spawn(process.execPath, [join(installed, "bin/understudy.js"), "recipe", "check", fifo], {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    for (;;) {
      // Opens once the program reads at the other end.
      const pipe = await open(fifo, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => undefined);
      if (pipe) return { child, pipe };
      await wait(20);
    }
  };
  const exitOf = async (child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return [child.exitCode, child.signalCode];
  };

  it("ends in order on the first Ctrl-C, with 130", async () => {
    const { child, pipe } = await heldStill("once");
    child.kill("SIGINT");
    // A signal that nobody handled would have ended the program; this one is still there to read the rest.
    await wait(200);
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    const stderr = text(child.stderr ?? Readable.from([]));
    await pipe.close();
    expect(await exitOf(child)).toEqual([130, null]);
    expect(await stderr).toBe("interrupted\n");
  });

  it("ends with 143 when a scheduler asks it to", async () => {
    const { child, pipe } = await heldStill("term");
    child.kill("SIGTERM");
    await wait(200);
    await pipe.close();
    expect(await exitOf(child)).toEqual([143, null]);
  });

  it("ends at once on the second Ctrl-C", async () => {
    const { child, pipe } = await heldStill("twice");
    child.kill("SIGINT");
    await wait(200);
    child.kill("SIGINT");
    // Ended by the signal itself, which shells report as 130.
    expect(await exitOf(child)).toEqual([null, "SIGINT"]);
    await pipe.close();
  });
});
