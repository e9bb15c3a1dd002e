import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layoutAt, WrapperResult, type AttemptLayout } from "../../src/launch/index.ts";
import { temporaryFolder, wrapperPath } from "./support.ts";

/** Runs the wrapper with a folder of programs that come before the real ones. */
const run = (
  options: readonly string[],
  programs: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): { readonly code: number | null; readonly layout: AttemptLayout; readonly result: WrapperResult } => {
  const folder = temporaryFolder().path;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const layout = layoutAt(join(folder, "attempts/1"));
  mkdirSync(layout.folder, { recursive: true });
  const args = [
    ["--run", layout.run, "--attempt", "1", "--marker", "node1", "--token", "t1", "--keep", "*"],
    options,
    ["--", "/bin/sh", "-c", 'mkdir "$1/made"', "program", layout.run],
  ];
  const { status } = spawnSync("/bin/sh", [wrapperPath, ...args.flat()], {
    env: { PATH: `${bin}:${process.env["PATH"] ?? ""}`, ...environment },
  });
  const result = WrapperResult.parse(JSON.parse(readFileSync(layout.result, "utf8")));
  return { code: status, layout, result };
};

const smi = (count: number): string =>
  Array.from({ length: count }, (_, at) => `echo 'GPU ${at}: NVIDIA H100 80GB HBM3 (UUID: GPU-${at})'`).join(
    "\n",
  );

describe("the node check of wrapper.sh", () => {
  it("counts the GPUs", () => {
    expect(run(["--gpus", "8"], { "nvidia-smi": smi(8) }).code).toBe(0);
    const { code, result } = run(["--gpus", "8", "--host", "gpu-7"], { "nvidia-smi": smi(7) });
    expect(code).toBe(69);
    expect(result).toMatchObject({ reason: "node-check", exitCode: 69, host: "gpu-7" });
    expect(result.detail).toContain("the job needs 8 GPUs, but there are only 7");
  });

  it("counts only those that the scheduler has given", () => {
    const programs = { "nvidia-smi": smi(8) };
    expect(run(["--gpus", "4"], programs, { CUDA_VISIBLE_DEVICES: "0,1,2,3" }).code).toBe(0);
    const { result } = run(["--gpus", "4"], programs, { CUDA_VISIBLE_DEVICES: "0,1" });
    expect(result.detail).toContain("there are only 2");
    expect(run(["--gpus", "1"], programs, { CUDA_VISIBLE_DEVICES: "" }).code).toBe(69);
  });

  it("quotes a driver that fails", () => {
    const text = "echo 'Unable to determine the device handle for GPU 0000:1B:00.0: Unknown Error'; exit 255";
    const { result } = run(["--gpus", "1"], { "nvidia-smi": text });
    expect(result.detail).toContain("nvidia-smi fails: Unable to determine the device handle");
  });

  it("asks for no GPU where none is needed", () => {
    expect(run([], { "nvidia-smi": "exit 9" }).code).toBe(0);
  });
});

describe("wrapper.sh", () => {
  it("gives everything the umask that is asked for", () => {
    const mode = (options: readonly string[]): number =>
      statSync(join(run(options).layout.run, "made")).mode & 0o777;
    expect(mode(["--umask", "0002"])).toBe(0o775);
    expect(mode([])).toBe(0o755);
  });

  it("says which node it was, as the scheduler calls it", () => {
    expect(run(["--host", "gpu-7"]).result.host).toBe("gpu-7");
    expect(run([]).result.host).toBe(execFileSync("uname", ["-n"], { encoding: "utf8" }).trim());
  });
});
