import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { chooseCpuTorch, cpuBuildIn } from "../../src/launch/torch-wheel.ts";
import { temporaryFolder } from "./support.ts";

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

describe("where torch comes from", () => {
  const report = (url: string, version: string): string =>
    JSON.stringify({ install: [{ download_info: { url }, metadata: { name: "torch", version } }] });
  const fakePip = (settings: string, answer: string): string => {
    const path = subfolder();
    writeFileSync(join(path, "report.json"), answer);
    return script(
      join(path, "python"),
      `case "$*" in *"config list"*) printf '%s\\n' "${settings}" ;; *--dry-run*) cat ${path}/report.json ;; *) exit 1 ;; esac`,
    );
  };
  const choose = async (fake: string, environment = {}, machine = {}): Promise<readonly string[]> => {
    const { index, install } = await chooseCpuTorch({
      python: fake,
      requirements: lock,
      environment: { PATH: process.env["PATH"], ...environment },
      platform: "linux",
      arch: "x64",
      ...machine,
    });
    return index === null ? install : [`index ${index}`, ...install];
  };
  const lock = join(folder.path, "requirements-torch.lock");
  writeFileSync(lock, "# pinned\ntorch==2.13.0\n");
  const CPU_INDEX = ["index https://download.pytorch.org/whl/cpu", "torch==2.13.0+cpu"];
  const AS_CONFIGURED = ["-r", lock];
  const LOCAL = report("file:///wheels/torch-2.13.0%2Bcpu-cp311.whl", "2.13.0+cpu");
  const CUDA = report("https://files.example/torch-2.13.0-cp311.whl", "2.13.0");

  it("takes the folder or index that the person names, and refuses one that is not there", async () => {
    const wheels = subfolder();
    expect(await choose("/none", { UNDERSTUDY_TORCH_WHEELS: wheels })).toEqual([
      "--no-index",
      "--find-links",
      wheels,
      ...AS_CONFIGURED,
    ]);
    expect(await choose("/none", { UNDERSTUDY_TORCH_WHEELS: "https://mirror.example/cpu" })).toEqual([
      "index https://mirror.example/cpu",
      ...AS_CONFIGURED,
    ]);
    const { from, index, install } = await chooseCpuTorch({
      python: "/none",
      requirements: lock,
      environment: { UNDERSTUDY_TORCH_WHEELS: "https://me:hush@mirror.example/cpu" },
      platform: "linux",
      arch: "x64",
    });
    expect(from).toBe("https://mirror.example/cpu");
    expect(index).toBe("https://me:hush@mirror.example/cpu");
    expect(install.join(" ")).not.toContain("hush");
    await expect(choose("/none", { UNDERSTUDY_TORCH_WHEELS: "ftp://me:hush@x" })).rejects.toMatchObject({
      message: expect.not.stringContaining("hush"),
    });
    await expect(choose("/none", { UNDERSTUDY_TORCH_WHEELS: "/no/such" })).rejects.toMatchObject({
      code: "TORCH_WHEELS_INVALID",
    });
  });

  it("takes what pip is configured for when that is a CPU build", async () => {
    expect(await choose(fakePip("global.find-links='/wheels'", LOCAL))).toEqual(AS_CONFIGURED);
    expect(await choose(fakePip(":env:.index-url='https://mirror.example'", LOCAL))).toEqual(AS_CONFIGURED);
  });

  it("goes to the CPU index rather than take a CUDA build, and does not even ask an unconfigured pip", async () => {
    expect(await choose(fakePip("global.extra-index-url='https://x'", CUDA))).toEqual(CPU_INDEX);
    expect(await choose(fakePip("global.find-links='/wheels'", "no json"))).toEqual(CPU_INDEX);
    expect(await choose(fakePip("global.cert='/x'", LOCAL))).toEqual(CPU_INDEX);
  });

  it("takes the plain build where that is for the CPU", async () => {
    expect(await choose("/none", {}, { platform: "darwin" })).toEqual(AS_CONFIGURED);
    expect(await choose("/none", {}, { arch: "arm64" })).toEqual(AS_CONFIGURED);
  });

  it.each([
    ["file:///w/torch.whl", "2.13.0+cpu", true],
    // A mirror's copy of the default Linux wheel, which is the CUDA build.
    ["file:///w/torch.whl", "2.13.0", false],
    ["https://x/torch.whl", "2.13.0+cpu", true],
    ["https://x/torch.whl", "2.13.0", false],
    ["file:///w/torch.whl", "2.13.0+cu130", false],
    ["file:///w/torch.whl", "2.13.0+rocm6", false],
  ])("%s %s is a CPU build: %s", (url, version, isCpu) => {
    expect(cpuBuildIn(report(url, version)) !== undefined).toBe(isCpu);
  });
});
