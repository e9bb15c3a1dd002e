import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { runProgram } from "../../../src/core/process.ts";
import { withProcessLock } from "../../../src/core/process-lock.ts";
import { findPython } from "../../../src/launch/index.ts";

const root = resolve(import.meta.dirname, "../../..");
const requirements = join(import.meta.dirname, "requirements.txt");

/** An environment with moto and boto3, made once for each content of requirements.txt; or why there is none. */
const installed: string | { readonly why: string } = await install();

/**
 * A suite that needs the AWS server. Where it cannot be installed the suite is skipped under a name that says so; with
 * UNDERSTUDY_SKIPS=fail that is a failure. `python` is an interpreter that has boto3.
 */
export const awsSuite = (name: string, body: (python: string) => void): void => {
  if (typeof installed === "string") {
    describe(name, () => body(installed));
    return;
  }
  const full = `${name} (moto is not here: ${installed.why})`;
  if (process.env["UNDERSTUDY_SKIPS"] === "fail") {
    it(full, () => {
      throw new Error(full);
    });
  } else describe.skip(full, () => body("python3"));
};

/** An AWS server of our own on a free port of this machine. It ends with this process, however that ends. */
export const startMoto = async (
  python: string,
): Promise<{ readonly url: string; close(): Promise<void> }> => {
  const server = spawn(python, ["-c", SERVER], {
    stdio: ["pipe", "ignore", "pipe"],
    env: { PATH: process.env["PATH"] },
  });
  const url = await addressOf(server);
  return {
    url,
    close: async () => {
      const gone = new Promise((done) => server.once("exit", done));
      server.kill("SIGKILL");
      await gone;
    },
  };
};

// Its standard input is a pipe from us: when that ends, so does it.
const SERVER = `
import os, sys, threading
from moto.server import main
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
main(["-H", "127.0.0.1", "-p", "0"])
`;

async function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let said = "";
    server.once("error", failed);
    server.once("exit", () => failed(new Error(`the AWS server ended: ${said}`)));
    server.stderr?.on("data", (data: Buffer) => {
      said = (said + data.toString()).slice(-4000);
      const [, port] = /Running on http:\/\/127\.0\.0\.1:(\d+)/.exec(said) ?? [];
      if (port !== undefined) done(`http://127.0.0.1:${port}`);
    });
  });
}

async function install(): Promise<string | { readonly why: string }> {
  const tools = join(root, ".understudy/test-tools");
  const folder = join(tools, `aws-${sha256(readFileSync(requirements)).slice(0, 12)}`);
  const python = join(folder, "bin/python");
  try {
    if (existsSync(python)) return python;
    await mkdir(tools, { recursive: true });
    return await withProcessLock(join(tools, "aws-lock"), { clock: systemClock }, async () => {
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
  const quiet = ["-q", "--disable-pip-version-check"];
  await mustRun([join(staged, "bin/python"), "-m", "pip", "install", ...quiet, "-r", requirements]);
  await rename(staged, folder);
}

async function mustRun(argv: readonly [string, ...string[]]): Promise<void> {
  const done = await runProgram(argv, { env: process.env, timeout: 600_000 });
  if (done.exitCode !== 0) throw new Error(done.stderr.trim().split("\n").at(-1) ?? "no words");
}
