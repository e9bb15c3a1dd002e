import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile } from "../compile.ts";
import { until } from "../support.ts";
import { leftBeside, ownerOf, place, quickPython } from "./environment-support.ts";
import { payload, program, temporaryFolder } from "./support.ts";

const CONTROLLER = `
import { systemClock } from "./core/clock.js";
import { prepareEnvironment } from "./launch/far/index.js";
import { localTransport } from "./launch/transport/index.js";
const [environment, payload] = process.argv.slice(2).map((text) => JSON.parse(text));
const world = { clock: systemClock, environment: process.env, payload };
await prepareEnvironment(localTransport(world), environment, {
  umask: "0022", signal: new AbortController().signal, onLine: (line) => console.log(line), world,
});
`;

/** The quick Python, which makes no environment until a file named `go` lies beside it: a build cannot end unseen. */
const heldPython = (folder: string): string => {
  const quick = quickPython(folder);
  const hold = `while [ "$2" = venv ] && [ ! -e '${join(folder, "go")}' ]; do sleep 0.1; done`;
  return program(join(folder, "held-python"), ["#!/bin/sh", hold, `exec '${quick}' "$@"`, ""].join("\n"));
};

describe("a controller that is killed while an environment is made", { timeout: 240_000 }, () => {
  it("neither stops nor doubles the build: the next one finds it", async () => {
    const folder = temporaryFolder().path;
    const output = compile(folder, ["launch/far/index.ts", "launch/transport/index.ts", "core/clock.ts"]);
    const script = join(output, "controller.js");
    writeFileSync(script, CONTROLLER);
    const made = place({ python: heldPython(folder) }, folder);
    const args = [made.environment, payload].map((value) => JSON.stringify(value));
    const killed = async (line: string): Promise<void> => {
      const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
      let said = "";
      child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const ended = new Promise((resolve) => child.once("exit", resolve));
      await Promise.race([until(async () => (said.includes(line) ? true : undefined)), ended]);
      child.kill("SIGKILL");
      await ended;
    };
    await killed("making a Python");
    const builder = ownerOf(made.folder, 1);
    await killed("making a Python");
    expect(ownerOf(made.folder, 1)).toBe(builder);
    writeFileSync(join(folder, "go"), "");
    await made.prepare();
    expect(made.run("demo-tool")).toBe("demo runs\n");
    expect(readFileSync(join(folder, "made"), "utf8")).toBe("made\n");
    expect(leftBeside(made.folder)).toEqual([]);
  });
});
