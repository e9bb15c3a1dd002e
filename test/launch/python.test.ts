import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { findPython, LauncherProfile, preparePython } from "../../src/launch/index.ts";
import { python, temporaryFolder } from "./support.ts";
import { tokenIndex } from "./token-index.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

let counter = 0;
const subfolder = (): string => {
  const path = join(folder.path, `f${(counter += 1)}`);
  mkdirSync(path);
  return path;
};
const script = (path: string, text: string): string => {
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
};

describe("findPython", () => {
  it("finds one on this machine", async () => {
    expect(await findPython(process.env)).toMatchObject({ version: expect.stringMatching(/^3\.\d+\.\d+$/) });
  });

  it("names what is missing", async () => {
    await expect(findPython({ PATH: subfolder() })).rejects.toMatchObject({
      code: "PYTHON_MISSING",
      hint: expect.stringContaining("3.10"),
    });
    await expect(findPython({ PATH: "/usr/bin" }, "/nowhere/python3")).rejects.toMatchObject({
      message: "No Python was found: looked for /nowhere/python3",
    });
  });

  it("names what is too old, and passes over a shim that leads nowhere", async () => {
    const path = subfolder();
    script(join(path, "python3.13"), "exit 127");
    script(join(path, "python3"), "echo /old/python3; echo 3.9.18");
    await expect(findPython({ PATH: path })).rejects.toMatchObject({
      code: "PYTHON_TOO_OLD",
      message: expect.stringContaining("python3 is 3.9.18 (/old/python3)"),
    });
  });

  it("says how to get venv where it is missing, and prefers an interpreter that has it", async () => {
    const path = subfolder();
    const bare = join(path, "python3.12");
    script(bare, `case "$2" in *ensurepip*) exit 1 ;; esac; echo ${bare}; echo 3.12.1`);
    await expect(findPython({ PATH: path })).rejects.toMatchObject({
      code: "PYTHON_WITHOUT_VENV",
      hint: expect.stringContaining("apt install python3-venv"),
    });
    const good = join(path, "python3");
    script(good, `case "$2" in *ensurepip*) echo yes; exit ;; esac; echo ${good}; echo 3.11.0`);
    expect(await findPython({ PATH: path })).toEqual({ path: good, version: "3.11.0" });
  });
});

// A wheel is a zip: python writes a tiny one.
const WHEEL = `
import sys, zipfile
folder, name, version = sys.argv[1:4]
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"{name}.py", f"version = {version!r}\\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;

describe("preparePython", () => {
  const wheels = subfolder();
  for (const name of ["torch", "leaf"]) execFileSync(python.path, ["-c", WHEEL, wheels, name, "1.0"]);
  const payload = subfolder();
  writeFileSync(join(payload, "requirements-torch.lock"), "torch==1.0\n");
  writeFileSync(join(payload, "requirements.lock"), "leaf==1.0\n");
  const environment = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    PIP_CONFIG_FILE: "/dev/null",
    PIP_NO_INDEX: "1",
    PIP_FIND_LINKS: wheels,
    PYTHONPATH: "/misleading",
    UNDERSTUDY_TORCH_WHEELS: wheels,
  };
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "local",
    device: "cpu",
    python: python.path,
  });
  const request = (lines: string[], changes: object = {}): Parameters<typeof preparePython>[0] => ({
    project: projectAt(join(folder.path, "project")),
    payload,
    profile,
    environment,
    clock: systemClock,
    onLine: (line) => lines.push(line),
    ...changes,
  });

  it(
    "makes the environment once, finds it again, and makes a half-made one anew",
    { timeout: 120_000 },
    async () => {
      const lines: string[] = [];
      const path = await preparePython(request(lines));
      expect(
        execFileSync(path, ["-c", "import torch, leaf; print(torch.version, leaf.version)"]).toString(),
      ).toBe("1.0 1.0\n");
      expect(lines.some((line) => line.startsWith("installing torch for the CPU from"))).toBe(true);
      const again: string[] = [];
      expect(await preparePython(request(again))).toBe(path);
      expect(again).toEqual([]);
      const home = join(path, "../..");
      rmSync(join(home, "_COMPLETE.json"));
      writeFileSync(join(home, "bin/leftover"), "");
      // Two at once: the second waits for the first and takes what it made.
      const logs: [string[], string[]] = [[], []];
      expect(await Promise.all(logs.map((log) => preparePython(request(log))))).toEqual([path, path]);
      expect(existsSync(join(home, "bin/leftover"))).toBe(false);
      expect(logs.filter((log) => log.some((line) => line.startsWith("making a Python")))).toHaveLength(1);
      expect(readdirSync(`${home.replace(/\/$/, "")}.lock`)).toEqual([]);
      expect(JSON.parse(readFileSync(join(home, "_COMPLETE.json"), "utf8"))).toMatchObject({ device: "cpu" });
    },
  );

  it(
    "says what to set when torch cannot be had, and leaves nothing that looks finished",
    { timeout: 120_000 },
    async () => {
      const empty = subfolder();
      const changed = { environment: { ...environment, UNDERSTUDY_TORCH_WHEELS: empty } };
      const failure = await preparePython(request([], changed)).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: "TORCH_UNREACHABLE",
        hint: expect.stringContaining("UNDERSTUDY_TORCH_WHEELS"),
      });
      await expect(preparePython(request([], { payload: empty }))).rejects.toMatchObject({
        code: "PAYLOAD_INCOMPLETE",
      });
    },
  );

  it("shows no token of a package index, in progress or error", { timeout: 120_000 }, async () => {
    const wish = "http://someone:hush-token@127.0.0.1:9/simple";
    const lines: string[] = [];
    const changed = {
      environment: { ...environment, UNDERSTUDY_TORCH_WHEELS: wish, PIP_RETRIES: "0" },
      project: projectAt(join(folder.path, "index")),
    };
    const failure = await preparePython(request(lines, changed)).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "TORCH_UNREACHABLE",
      message: expect.stringContaining("http://127.0.0.1:9/simple"),
    });
    expect(lines.some((line) => line.includes("http://127.0.0.1:9/simple"))).toBe(true);
    expect([String(failure), ...lines].join("\n")).not.toMatch(/hush-token|someone/);
  });

  it("gives a token of a package index to pip alone, in no argument", { timeout: 120_000 }, async () => {
    const index = await tokenIndex(wheels);
    const changed = {
      environment: { ...environment, UNDERSTUDY_TORCH_WHEELS: index.url },
      project: projectAt(join(folder.path, "tokens")),
    };
    const path = await preparePython(request([], changed)).finally(() => index.close());
    expect(execFileSync(path, ["-c", "import torch; print(torch.version)"]).toString()).toBe("1.0\n");
    expect(index.served()).toBeGreaterThan(1);
    expect(index.shown()).toEqual([]);
  });

  it("stops when told to", { timeout: 60_000 }, async () => {
    const stop = new AbortController();
    const project = projectAt(join(folder.path, "aborted"));
    const lines: string[] = [];
    const onLine = (line: string): void => {
      lines.push(line);
      stop.abort(new Error("enough"));
    };
    await expect(preparePython(request(lines, { project, onLine, signal: stop.signal }))).rejects.toThrow(
      "enough",
    );
    const made = readdirSync(join(project.state, "environments"), { recursive: true, encoding: "utf8" });
    expect(made.filter((name) => name.endsWith("_COMPLETE.json"))).toEqual([]);
  });
});
