import { describe, expect, it } from "vitest";
import { cudaOfLock, gpuChecks } from "../../../src/launch/far/gpu-checks.ts";
import { parseGpus } from "../../../src/launch/far/gpus.ts";

const UUIDS = ["GPU-5bd5f36e-0001", "GPU-5bd5f36e-0002"];
const gpu = (index: number, used: string, total = "81559"): string =>
  `gpu ${index}, ${UUIDS[index] ?? `GPU-${index}`}, NVIDIA H100 80GB HBM3, ${total}, ${used}, 580.65.06`;

const need = { device: "cuda", count: 2, maxHeldMebibytes: 1024, cuda: "13.0" } as const;
const outcomes = (
  lines: readonly string[],
  changes: Partial<Parameters<typeof gpuChecks>[1]> = {},
): readonly string[] =>
  gpuChecks(parseGpus(lines), { ...need, ...changes }).map(({ name, outcome }) => `${name}: ${outcome}`);

describe("what nvidia-smi says", () => {
  it("is read with who holds each GPU", () => {
    const found = parseGpus([
      "nvidia-smi ok",
      gpu(0, "4"),
      gpu(1, "70012"),
      "cuda 13.0",
      `gpu-process alice, ${UUIDS[1]}, 4711, 69000, /users/alice/envs/x/bin/python, train.py`,
      `gpu-process ?, ${UUIDS[1]}, 88, [N/A], [Not Found]`,
    ]);
    expect(found).toMatchObject({ state: "known", cuda: "13.0" });
    expect(found).toMatchObject({
      gpus: [
        {
          index: 0,
          name: "NVIDIA H100 80GB HBM3",
          totalMebibytes: 81559,
          usedMebibytes: 4,
          driver: "580.65.06",
          holders: [],
        },
        {
          index: 1,
          holders: [
            {
              pid: 4711,
              owner: "alice",
              mebibytes: 69000,
              program: "/users/alice/envs/x/bin/python, train.py",
            },
            { pid: 88, owner: "?", mebibytes: null, program: "[Not Found]" },
          ],
        },
      ],
    });
  });

  it.each([
    { name: "nothing", lines: [], state: "absent" },
    { name: "no program", lines: ["nvidia-smi absent"], state: "absent" },
    {
      name: "a driver that fails",
      lines: ["nvidia-smi failed Failed to initialize NVML: Driver/library version mismatch"],
      state: "failed",
    },
    { name: "no devices", lines: ["nvidia-smi ok", "gpu No devices were found"], state: "known" },
    {
      name: "torn lines",
      lines: ["nvidia-smi ok", "gpu 0, GPU-1", "gpu-process x", "cuda ?"],
      state: "known",
    },
  ])("is never a crash: $name", ({ lines, state }) => {
    expect(parseGpus(lines).state).toBe(state);
  });
});

describe("what is checked of GPUs", () => {
  const good = ["nvidia-smi ok", gpu(0, "4"), gpu(1, "600"), "cuda 13.1"];

  it("is their number, their free memory and their driver", () => {
    expect(outcomes(good)).toEqual(["gpus: ok", "gpu memory: ok", "driver: ok"]);
    expect(outcomes(good, { count: 8 })).toEqual(["gpus: failed", "gpu memory: failed", "driver: ok"]);
    expect(outcomes(good, { maxHeldMebibytes: 500 })).toEqual([
      "gpus: ok",
      "gpu memory: failed",
      "driver: ok",
    ]);
    expect(outcomes(["nvidia-smi ok", gpu(0, "[N/A]"), gpu(1, "1")])).toEqual([
      "gpus: ok",
      "gpu memory: unknown",
      "driver: unknown",
    ]);
  });

  it("names pid and owner of what is held, with numbers", () => {
    const lines = [
      ...good.slice(0, 2),
      gpu(1, "70012"),
      "cuda 13.0",
      `gpu-process alice, ${UUIDS[1]}, 4711, 69000, python`,
    ];
    const check = gpuChecks(parseGpus(lines), need).find(({ name }) => name === "gpu memory");
    expect(check).toMatchObject({
      outcome: "failed",
      detail:
        "1 of 2 GPUs are free, 2 needed\nGPU 1: 73.4 GB of 85.5 GB held: 72.4 GB by pid 4711 of alice (python)",
    });
  });

  it("compares the driver with the payload's CUDA by major version", () => {
    const with12 = [...good.slice(0, 3), "cuda 12.8"];
    const check = gpuChecks(parseGpus(with12), need).find(({ name }) => name === "driver");
    expect(check).toMatchObject({
      outcome: "failed",
      detail: "driver 580.65.06 (CUDA 12.8) is too old: the payload's torch is built for CUDA 13.0",
      hint: "driver 580 or newer is needed, or a container with an older CUDA",
    });
    // A newer minor version runs on an older driver of the same major one.
    expect(outcomes([...good.slice(0, 3), "cuda 13.0"], { cuda: "13.2" })).toContain("driver: ok");
    expect(outcomes(with12, { cuda: null })).toContain("driver: ok");
  });

  it("says that there are none", () => {
    expect(outcomes(["nvidia-smi absent"])).toEqual(["gpus: failed"]);
    expect(outcomes(["nvidia-smi absent"], { device: "auto" })).toEqual(["gpus: warning"]);
    expect(outcomes(["nvidia-smi failed timed out"], { device: "cpu" })).toEqual([]);
    const [check] = gpuChecks(parseGpus(["nvidia-smi failed No such device"]), need);
    expect(check?.detail).toBe("nvidia-smi fails: No such device");
  });

  it("knows the payload's CUDA from its lock", () => {
    expect(cudaOfLock("nvidia-cuda-runtime==13.0.96 ; sys_platform == 'linux' \\\n  --hash=sha256:1\n")).toBe(
      "13.0",
    );
    expect(cudaOfLock("nvidia-cuda-runtime-cu12==12.8.90\n")).toBe("12.8");
    expect(cudaOfLock("torch==2.13.0\n")).toBeNull();
  });
});
