import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { farScript } from "../../../src/launch/far/index.ts";
import { sshProfile, temporaryFolder } from "./support.ts";

/** Runs a far script with a program that prints its environment. */
function run(
  script: string,
  environment: Readonly<Record<string, string>> = {},
): { code: number | null; out: string; err: string } {
  const file = join(temporaryFolder().path, "start.sh");
  writeFileSync(file, script);
  const env = { PATH: "/usr/bin:/bin", HOME: "/home/far", ...environment };
  const { status, stdout, stderr } = spawnSync("/bin/sh", [file], { env, encoding: "utf8" });
  return { code: status, out: stdout, err: stderr };
}

describe("the script that starts a job", () => {
  const show = ["/bin/sh", "-c", "env | sort"] as const;
  const request = { profile: sshProfile(), environment: {}, processes: 1, program: show };

  it("drops what could steer the payload and keeps what belongs to the machine", () => {
    const strange = {
      PYTHONPATH: "/wrong",
      LD_PRELOAD_X: "x",
      HF_TOKEN: "t",
      VIRTUAL_ENV: "/v",
      SLURM_JOB_ID: "7",
      CUDA_HOME: "/c",
    };
    const { out } = run(farScript(request), strange);
    const names = out.split("\n").map((line) => line.split("=")[0]);
    for (const kept of ["PATH", "HOME", "SLURM_JOB_ID", "CUDA_HOME", "OMP_NUM_THREADS"])
      expect(names).toContain(kept);
    for (const gone of ["PYTHONPATH", "LD_PRELOAD_X", "HF_TOKEN", "VIRTUAL_ENV"])
      expect(names).not.toContain(gone);
  });

  it("exports values byte for byte, after setup lines that stand as they were written", () => {
    const odd = `a 'b' "c" $HOME \`id\` \\ é; exit 9`;
    const profile = sshProfile({
      setup: ["export FROM_SETUP=yes ODD=old", "# a comment", 'test -n "$HOME"'],
    });
    const script = farScript({ ...request, profile, environment: { ODD: { value: odd } } });
    const { out, code } = run(script);
    expect(code).toBe(0);
    expect(out).toContain("FROM_SETUP=yes\n");
    expect(out).toContain(`ODD=${odd}\n`);
    expect(script.split("\n")).toContain("export FROM_SETUP=yes ODD=old");
  });

  it("passes the program's arguments and its exit code on", () => {
    const args = ["x y", "$(id)", "", "it's", "-n"];
    const { out, code } = run(
      farScript({ ...request, program: ["/bin/sh", "-c", 'printf "<%s>" "$@"; exit 7', "name", ...args] }),
    );
    expect(out).toBe("<x y><$(id)><><it's><-n>");
    expect(code).toBe(7);
  });

  it("ends with a sentence when a setup line or the scratch folder fails", () => {
    const failing = run(
      farScript({ ...request, profile: sshProfile({ setup: ["true", "no-such-module load", "touch /x"] }) }),
    );
    expect([failing.code, failing.out]).toEqual([69, ""]);
    expect(failing.err).toContain("understudy: a setup line of the profile failed with code 127");
    const scratch = run(farScript({ ...request, environment: { TMPDIR: { value: "/proc/none" } } }));
    expect(scratch.code).toBe(69);
    expect(scratch.err).toContain("understudy: the scratch folder /proc/none cannot be written");
  });

  it("finds `module` where login shells get it from", () => {
    const at = temporaryFolder().path;
    mkdirSync(join(at, "init"));
    writeFileSync(join(at, "init", "sh"), 'module() { MODULE_LOADED="$*"; export MODULE_LOADED; }\n');
    const profile = sshProfile({ setup: ["module load cuda/12.8"] });
    expect(run(farScript({ ...request, profile }), { MODULESHOME: at }).out).toContain(
      "MODULE_LOADED=load cuda/12.8\n",
    );
  });

  it("reads secrets once out of their folder, deletes it, and goes on without them after a requeue", () => {
    const secrets = join(temporaryFolder().path, "it's secret");
    mkdirSync(secrets);
    writeFileSync(join(secrets, "HUB"), "s3cr'et $x");
    const script = farScript({ ...request, environment: { HUB: { secret: "HUB" } }, secrets });
    expect(script).not.toContain("s3cr");
    expect(run(script).out).toContain("HUB=s3cr'et $x\n");
    expect(existsSync(secrets)).toBe(false);
    const again = run(script);
    expect([again.code, again.out.includes("HUB=")]).toEqual([0, false]);
    expect(again.err).toContain("the secret HUB was read by an earlier start");
  });

  it("divides the machine's cores among the processes, and leaves a number of the profile alone", () => {
    expect(run(farScript({ ...request, processes: 1000 })).out).toContain("OMP_NUM_THREADS=1\n");
    const fixed = farScript({ ...request, environment: { OMP_NUM_THREADS: { value: "3" } } });
    expect(run(fixed).out).toContain("OMP_NUM_THREADS=3\n");
  });

  it("refuses names that are none, and secrets without a folder", () => {
    expect(() => farScript({ ...request, environment: { "A;id": { value: "" } } })).toThrow(
      "cannot be the name",
    );
    expect(() => farScript({ ...request, environment: { HUB: { secret: "HUB" } } })).toThrow(
      "Nothing says where",
    );
  });
});
