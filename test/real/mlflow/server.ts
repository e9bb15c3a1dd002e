import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { withProcessLock } from "../../../src/core/process-lock.ts";
import { runProgram } from "../../../src/core/process.ts";
import { findPython } from "../../../src/launch/index.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const root = resolve(import.meta.dirname, "../../..");

/** `now`: the newest server we know; `old`: one from 2023, whose Python packages still install. */
export type Age = "now" | "old";

/**
 * A suite that needs an MLflow server. Where it cannot be installed the suite is skipped under a name that says so; with
 * UNDERSTUDY_SKIPS=fail that is a failure.
 */
export const mlflowSuite = async (name: string, age: Age, body: (python: string) => void): Promise<void> => {
  const installed = await install(age);
  if (typeof installed === "string") {
    describe(name, () => body(installed));
    return;
  }
  const full = `${name} (MLflow is not here: ${installed.why})`;
  if (process.env["UNDERSTUDY_SKIPS"] === "fail") {
    it(full, () => {
      throw new Error(full);
    });
  } else describe.skip(full, () => body("python3"));
};

export interface MlflowServer {
  /** Stays the same over `stop` and `start`. */
  readonly url: string;
  /** The file of its database, or the folder of its runs. */
  readonly data: string;
  /** Killed, as by a power cut. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A server on a free port of this machine, keeping what it is told in a folder of its own. It ends with this process. */
export const startMlflow = async (
  python: string,
  keeps: "sqlite" | "files" = "sqlite",
): Promise<MlflowServer> => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-mlflow-"));
  const data = join(folder, keeps === "sqlite" ? "mlflow.db" : "runs");
  const store = keeps === "sqlite" ? `sqlite:///${data}` : `file://${data}`;
  if (keeps === "sqlite") cpSync(join(dirname(dirname(python)), "empty.db"), data);
  let port = 0;
  let server: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    const running = server;
    server = undefined;
    if (running === undefined) return;
    const gone = new Promise((done) => running.once("exit", done));
    running.kill("SIGKILL");
    await gone;
  };
  const start = async (): Promise<void> => {
    server = spawn(
      python,
      [join(import.meta.dirname, "serve.py"), store, String(port), join(folder, "artifacts")],
      {
        stdio: ["pipe", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], HOME: folder },
        cwd: folder,
      },
    );
    port = await portOf(server);
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    data,
    start,
    stop,
    close: async () => {
      await stop();
      removeFolder(folder);
    },
  };
};

async function portOf(server: ChildProcess): Promise<number> {
  return new Promise((done, failed) => {
    let said = "";
    const hear = (data: Buffer): void => {
      said = (said + data.toString()).slice(-4000);
      const [, port] = /^PORT (\d+)$/m.exec(said) ?? [];
      if (port !== undefined) done(Number(port));
    };
    server.once("error", failed);
    server.once("exit", () => failed(new Error(`the MLflow server ended: ${said}`)));
    server.stdout?.on("data", hear);
    server.stderr?.on("data", hear);
  });
}

async function install(age: Age): Promise<string | { readonly why: string }> {
  const requirements = join(import.meta.dirname, `requirements${age === "old" ? "-old" : ""}.txt`);
  const tools = join(root, ".understudy/test-tools");
  const folder = join(tools, `mlflow-${sha256(readFileSync(requirements)).slice(0, 12)}`);
  const python = join(folder, "bin/python");
  try {
    if (existsSync(python)) return python;
    await mkdir(tools, { recursive: true });
    return await withProcessLock(join(tools, `mlflow-${age}-lock`), { clock: systemClock }, async () => {
      if (!existsSync(python)) await build(folder, requirements);
      return python;
    });
  } catch (error) {
    return { why: messageOf(error).split("\n").at(-1) ?? "" };
  }
}

async function build(folder: string, requirements: string): Promise<void> {
  const staged = `${folder}.part`;
  await rm(staged, { recursive: true, force: true });
  const { path } = await findPython(process.env);
  await mustRun([path, "-m", "venv", staged]);
  // Run as modules only, so that the folder can be renamed.
  const quiet = ["-q", "--disable-pip-version-check"];
  await mustRun([join(staged, "bin/python"), "-m", "pip", "install", ...quiet, "-r", requirements]);
  // Its tables take longer to make than all the tests that use them.
  const make = "import sys; from mlflow.server import handlers; handlers._get_tracking_store(*sys.argv[1:])";
  const store = `sqlite:///${join(staged, "empty.db")}`;
  await mustRun([join(staged, "bin/python"), "-c", make, store, staged]);
  await rename(staged, folder);
}

async function mustRun(argv: readonly [string, ...string[]]): Promise<void> {
  const done = await runProgram(argv, { env: process.env, timeout: 600_000 });
  if (done.exitCode !== 0) throw new Error(done.stderr.trim().split("\n").at(-1) ?? "no words");
}
