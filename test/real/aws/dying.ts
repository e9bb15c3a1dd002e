import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../../launch/compile.ts";

/** A call to the provider at which a program kills itself. */
export interface FatalCall {
  readonly when: "before" | "after";
  /** A regular expression for `SageMaker.CreateTrainingJob`, or `PUT /bucket/key?query`. */
  readonly target: string;
  /** The how-many-eth such call; default the first. */
  readonly call?: number;
}

/** Runs in a process of its own; resolves with its exit code, or with the signal that it died of. */
export type Dying = (
  argument: readonly string[],
  fatal: FatalCall | null,
  options: { readonly cwd: string; readonly environment: Readonly<Record<string, string | undefined>> },
) => Promise<{ readonly end: number | string | null; readonly stdout: string; readonly stderr: string }>;

// Dies right before a call goes out, or right after its reply has begun to come in. The product knows nothing of this.
const START = `
  import http from "node:http";
  const fatal = JSON.parse(process.env.TEST_FATAL);
  const die = () => process.kill(process.pid, "SIGKILL");
  const { request } = http;
  let calls = 0;
  http.request = (...words) => {
    const [options] = words;
    const target = options.headers?.["x-amz-target"] ?? options.method + " " + options.path;
    const hit = fatal !== null && new RegExp(fatal.target).test(target) && (calls += 1) === (fatal.call ?? 1);
    if (hit && fatal.when === "before") die();
    const made = request(...words);
    if (hit && fatal.when === "after") made.on("response", die);
    return made;
  };`;

/** Compiles \`entries\` into a folder; the script follows, with \`from(path)\` as the place of a compiled file. */
export const dying = (
  folder: string,
  entries: readonly string[],
  script: (from: (path: string) => string) => string,
): Dying => {
  const output = compile(folder, entries);
  const path = join(folder, "dying.mjs");
  writeFileSync(path, `${START}\n${script((file) => JSON.stringify(join(output, file)))}`);
  return async (argument, fatal, { cwd, environment }) => {
    const child = spawn(process.execPath, [path, ...argument], {
      cwd,
      env: { ...environment, TEST_FATAL: JSON.stringify(fatal) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
    const end = await new Promise<number | string | null>((done) => {
      child.once("close", (code, signal) => done(code ?? signal));
    });
    return { end, stdout, stderr };
  };
};

/** The command line, in a process that dies at a call. */
export const dyingProgram = (folder: string): Dying =>
  dying(folder, ["main.ts"], (from) => `await import(${from("main.js")});`);
