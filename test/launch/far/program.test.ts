import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layoutAt } from "../../../src/launch/index.ts";
import { farProblems, farProgram, pyxisFlags } from "../../../src/launch/far/index.ts";
import { farJob, program, slurmProfile, sshProfile, temporaryFolder } from "./support.ts";

const layout = layoutAt("/far/runs/run-1/attempts/2");
const IMAGE = `lab/understudy@sha256:${"a".repeat(64)}`;
const payloadCommand = [
  "-m",
  "understudy_payload",
  "train",
  "--manifest",
  "/far/runs/run-1/attempts/2/job.json",
];

describe("the program of a job on a far machine", () => {
  it("is the payload in its environment, with the far machine's own PATH and home", () => {
    const { argv, environment, keep, python } = farProgram(farJob(), sshProfile(), layout, 8);
    expect(argv).toEqual(["/far/env/abc/bin/python", ...payloadCommand, "--processes", "8"]);
    expect(environment).toEqual({
      HF_HUB_OFFLINE: { value: "1" },
      HF_HUB_DISABLE_TELEMETRY: { value: "1" },
      PYTHONDONTWRITEBYTECODE: { value: "1" },
      PYTHONNOUSERSITE: { value: "1" },
      PYTHONPATH: { value: "/far/env/payload" },
      PYTHONUNBUFFERED: { value: "1" },
      TMPDIR: { value: "/tmp" },
    });
    expect([keep, python]).toEqual(["*", "/far/env/abc/bin/python"]);
  });

  it("has the profile's threads, and secrets as names", () => {
    const { environment } = farProgram(farJob({ secrets: ["HUB"] }), sshProfile({ threads: 4 }), layout, 1);
    expect(environment["OMP_NUM_THREADS"]).toEqual({ value: "4" });
    expect(environment["HUB"]).toEqual({ secret: "HUB" });
  });

  it("runs inside apptainer with every folder that it needs, once", () => {
    const container = { engine: "apptainer", image: "/images/understudy.sif", binds: ["/scratch"] };
    const job = farJob({ python: "python3", kind: "score" });
    const { argv, python } = farProgram(job, sshProfile({ container }), layout, 1);
    const binds = ["/far/data", "/far/models", "/far/runs", "/tmp", "/far/env/payload", "/scratch"];
    const engine = ["apptainer", "exec", "--nv", ...binds.flatMap((folder) => ["--bind", folder])];
    const inside = ["python3", "-m", "understudy_payload", "score", "--manifest", layout.manifest];
    expect(argv).toEqual([...engine, "--pwd", layout.folder, "/images/understudy.sif", ...inside]);
    expect(python).toBeNull();
    expect(farProgram(job, sshProfile({ container, device: "cpu" }), layout, 1).argv).not.toContain("--nv");
  });

  it("gives srun the flags of pyxis", () => {
    const profile = slurmProfile({ container: { engine: "pyxis", image: "reg#lab/x:1", mounts: ["/a:/b"] } });
    const flags = pyxisFlags(farJob(), profile, layout);
    expect(flags).toContain("--container-image=reg#lab/x:1");
    expect(flags).toContain(
      "--container-mounts=/far/data:/far/data,/far/models:/far/models,/far/runs:/far/runs,/tmp:/tmp,/far/env/payload:/far/env/payload,/a:/b",
    );
    const { argv } = farProgram(farJob({ python: "python3" }), profile, layout, 8);
    expect(argv.slice(0, 5)).toEqual(["srun", "--nodes=1", "--ntasks=1", "--export=ALL", "--cpu-bind=none"]);
    expect(argv.slice(5, 5 + flags.length)).toEqual(flags);
    expect(pyxisFlags(farJob(), slurmProfile(), layout)).toEqual([]);
  });

  it("runs docker under the marker's name as the far user, with values inherited by name", () => {
    const at = temporaryFolder().path;
    program(join(at, "docker"), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" "secret=$HUB" >>'${at}/calls'\n`);
    const profile = sshProfile({ container: { engine: "docker", image: IMAGE, mounts: [] } });
    const { argv } = farProgram(farJob({ python: "python3", secrets: ["HUB"] }), profile, layout, 8);
    const [name, ...args] = argv;
    const env = { PATH: `${at}:/usr/bin:/bin`, UNDERSTUDY_JOB: "us-run-1-a2.token.3", HUB: "s3cret value" };
    execFileSync(name, args, { env });
    const calls = readFileSync(join(at, "calls"), "utf8").split("\n");
    expect(calls.slice(0, 4)).toEqual(["3", "rm", "--force", "us-run-1-a2"]);
    const started = calls.slice(6);
    const user = `${process.getuid?.()}:${process.getgid?.()}`;
    expect(started.slice(0, 7)).toEqual(["run", "--rm", "--init", "--name", "us-run-1-a2", "--user", user]);
    expect(started.slice(7, 9)).toEqual(["--gpus", "all"]);
    expect(started[started.indexOf("HUB") - 1]).toBe("--env");
    expect(started[started.indexOf("UNDERSTUDY_JOB") - 1]).toBe("--env");
    const inside = ["python3", ...payloadCommand, "--processes", "8", "secret=s3cret value", ""];
    expect(started.slice(started.indexOf(IMAGE) - 2)).toEqual(["--entrypoint", "", IMAGE, ...inside]);
    expect(argv.join(" ")).not.toContain("s3cret");
  });

  it("makes files of the profile's umask, whatever the wrapper's is", () => {
    const profile = sshProfile({ umask: "0007" });
    const [name, ...args] = farProgram(farJob({ python: "/bin/sh" }), profile, layout, 1).argv;
    const at = temporaryFolder().path;
    expect(args.slice(0, 4)).toEqual(["-c", 'umask "$1" && shift && exec "$@"', "understudy-umask", "0007"]);
    const said = execFileSync(name, [...args.slice(0, 4), "/bin/sh", "-c", "umask"], {
      cwd: at,
      encoding: "utf8",
    });
    expect(said.trim()).toBe("0007");
  });
});

describe("what is wrong with a far profile", () => {
  const codes = (changes: Readonly<Record<string, unknown>>, job = farJob()): string[] =>
    farProblems(job, sshProfile(changes)).map(({ code }) => code);

  it("is told without asking any machine", () => {
    expect(codes({})).toEqual([]);
    expect(codes({ container: { engine: "docker", image: IMAGE } })).toEqual([]);
    expect(codes({ container: { engine: "apptainer", image: "/x.sif" } })).toEqual([]);
    expect(codes({ container: { engine: "docker", image: "lab/understudy:latest" } })).toEqual([
      "IMAGE_NOT_PINNED",
    ]);
    expect(codes({ container: { engine: "pyxis", image: "/x.sqsh" } })).toEqual(["CONTAINER_ENGINE"]);
    expect(codes({ container: { engine: "docker", image: IMAGE }, wheelhouse: "/w" })).toEqual([
      "WHEELHOUSE_UNUSED",
    ]);
    const colon = farJob({ runFolder: "/far/runs/a:b" });
    expect(codes({ container: { engine: "docker", image: IMAGE } }, colon)).toEqual(["MOUNT_PATH"]);
    expect(codes({ stage: { model: "image", data: "s3" } })).toEqual(["STAGE_IMAGE", "STAGE_S3"]);
    expect(codes({ stage: { model: "node-download", data: "node-download" } })).toEqual([
      "STAGE_DATA",
      "STAGE_HUB",
    ]);
    const hub = farJob({
      manifest: { model: { path: "/far/models/x", revision: "Qwen/Qwen2.5-Omni-7B@abc123" } },
    });
    expect(codes({ stage: { model: "node-download" } }, hub)).toEqual([]);
  });
});
