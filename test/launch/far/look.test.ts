import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import { checkFar, probeFar } from "../../../src/launch/far/index.ts";
import type { Check } from "../../../src/launch/index.ts";
import { python } from "../support.ts";
import { farJob, here, program, sshProfile, temporaryFolder, world } from "./support.ts";

const SMI = `#!/bin/sh
case "$*" in
  *--query-gpu=*)
    echo '0, GPU-aaaa, NVIDIA H100 80GB HBM3, 81559, 4, 580.65.06'
    echo "1, GPU-bbbb, NVIDIA H100 80GB HBM3, 81559, 70012, 580.65.06" ;;
  *--query-compute-apps=*) echo "GPU-bbbb, $HOLDER, 69000, python" ;;
  '') echo '| NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0     |' ;;
esac
`;

/** A machine with two GPUs, one of them held by this very process. */
function machine(): {
  readonly paths: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
} {
  const at = temporaryFolder().path;
  mkdirSync(join(at, "bin"));
  program(join(at, "bin", "nvidia-smi"), SMI);
  const paths = {
    data: `${at}/data`,
    models: `${at}/models`,
    env: `${at}/env`,
    runs: `${at}/runs`,
    tmp: "/tmp",
  };
  return { paths, environment: { PATH: `${at}/bin:${process.env["PATH"]}`, HOLDER: String(process.pid) } };
}

const found = (checks: readonly Check[], name: string): Check | undefined =>
  checks.find((check) => check.name === name);

describe("a look at a far machine", () => {
  it("finds Python, space, clock, GPUs with their holders, and the driver", async () => {
    const { paths, environment } = machine();
    const profile = sshProfile({ paths, device: "cuda", processes: 2, python: python.path });
    const checks = await probeFar(here(environment), profile, world);
    expect(found(checks, "python")?.detail).toMatch(new RegExp(`^Python ${python.version} .*, (no )?glibc`));
    expect(found(checks, "clock")?.outcome).toBe("ok");
    expect(checks.filter(({ name }) => name.startsWith("disk "))).not.toEqual([]);
    expect(found(checks, "gpus")?.outcome).toBe("ok");
    expect(found(checks, "gpu memory")).toMatchObject({
      outcome: "failed",
      detail: expect.stringMatching(new RegExp(`GPU 1: .* by pid ${process.pid} of \\w+ \\(python\\)`)),
    });
    expect(found(checks, "driver")?.detail).toBe(
      "driver 580.65.06 (CUDA 13.0); the payload's torch is built for CUDA 13.0",
    );
  });

  it("for a job, adds what it needs, what lies there, and that the environment is made", async () => {
    const { paths, environment } = machine();
    mkdirSync(paths["data"] ?? "");
    const shard = join(paths["data"] ?? "", "one.parquet");
    writeFileSync(shard, "shard");
    const made = join(paths["env"] ?? "", "abc");
    mkdirSync(join(made, "bin"), { recursive: true });
    program(join(made, "bin", "python"), "#!/bin/sh\n");
    writeFileSync(join(made, "_COMPLETE.json"), "{}\n");
    const profile = sshProfile({ paths, device: "cpu", python: python.path });
    const job = farJob({
      profile,
      diskBytes: 5e15,
      inputs: [
        { role: "data", path: shard, source: null, bytes: 5, sha256: sha256("shard") },
        {
          role: "model",
          path: join(paths["models"] ?? "", "config.json"),
          source: "/here/config.json",
          bytes: 1000,
          sha256: "a",
        },
      ],
      environment: { folder: made, python: python.path, locks: [], wheelhouse: null, device: "cpu" },
    });
    const checks = await checkFar(here(environment), job, profile, world);
    expect(found(checks, "python")?.detail).toContain("the environment is made already");
    const disk = checks.find(({ name }) => name.startsWith("disk "));
    expect(disk).toMatchObject({
      outcome: "failed",
      detail: expect.stringMatching(
        /^needs 5000\.0 TB = 5000\.0 TB for the run \+ 1\.0 kB for 1 file of the model, has .* free$/,
      ),
    });
    expect(found(checks, "data")?.detail).toBe(
      "1 file (5 bytes) there, of the right size; the job first hashes 1 file (5 bytes) once",
    );
    expect(found(checks, "model")?.detail).toBe("1 file (1.0 kB) will be sent");
    expect(found(checks, "gpus")).toBeUndefined();
  });

  it("runs the setup lines before it asks, and goes on without them when one fails", async () => {
    const { paths, environment } = machine();
    const at = temporaryFolder().path;
    program(join(at, "module-python"), `#!/bin/sh\nexec '${python.path}' "$@"\n`);
    const settings = { paths, device: "cpu", python: "module-python" };
    const loaded = await probeFar(
      here(environment),
      sshProfile({ ...settings, setup: ["echo gpu noise", `PATH='${at}':$PATH`] }),
      world,
    );
    expect(loaded.slice(0, 2)).toMatchObject([
      { name: "setup", outcome: "ok" },
      { name: "python", outcome: "ok" },
    ]);
    const failed = await probeFar(
      here(environment),
      sshProfile({ ...settings, setup: ["ls /no/such/module >&2"] }),
      world,
    );
    expect(failed.slice(0, 2)).toMatchObject([
      {
        name: "setup",
        outcome: "failed",
        detail: expect.stringContaining("a setup line of the profile failed with code 2"),
      },
      { name: "python", outcome: "failed", detail: expect.stringContaining("module-python does not run") },
    ]);
  });

  it("says that a machine without nvidia-smi has no GPUs", async () => {
    const { paths } = machine();
    const checks = await probeFar(
      here({ PATH: "/usr/bin:/bin" }),
      sshProfile({ paths, device: "cuda", python: python.path }),
      world,
    );
    expect(found(checks, "gpus")).toMatchObject({
      outcome: "failed",
      detail: "there is no nvidia-smi on PATH",
    });
  });

  it("has no answer from a machine that has none", async () => {
    const mute = {
      ...here(),
      exec: async () =>
        ({ kind: "transport-error", started: "no", code: "UNREACHABLE", reason: "no route" }) as const,
    };
    await expect(probeFar(mute, sshProfile(), world)).rejects.toMatchObject({
      code: "TRANSPORT_UNREACHABLE",
    });
  });
});
