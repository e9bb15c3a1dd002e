import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { LauncherProfile, openLauncher, planText, type Job, type Launcher } from "../../src/launch/index.ts";
import { temporaryFolder } from "./support.ts";
import { execFileSync } from "node:child_process";

const payload = temporaryFolder().path;
writeFileSync(join(payload, "wrapper.sh"), "#!/bin/sh\nexit 0\n");

const ENVIRONMENT = {
  PATH: "/usr/bin:/bin",
  HOME: "/home/me",
  LANG: "C.UTF-8",
  HF_TOKEN: "hf_verysecret",
  STRAY: "x",
};

const launcher = async (settings: object = {}): Promise<Launcher> =>
  openLauncher(LauncherProfile.parse({ schemaVersion: 1, kind: "local", threads: 2, ...settings }), {
    clock: systemClock,
    environment: ENVIRONMENT,
    payload,
  });

const job = (changes: Partial<Job> = {}): Job => ({
  kind: "train",
  runId: "20260131-101500-smoke-ab12",
  runFolder: "/state/runs/20260131-101500-smoke-ab12",
  manifest: { schemaVersion: 1, kind: "train", training: { globalBatch: 8, microBatch: 2 } },
  python: "/env/bin/python",
  payload: "/payload",
  profile: LauncherProfile.parse({ schemaVersion: 1, kind: "local" }),
  diskBytes: 1000.5,
  secrets: ["HF_TOKEN"],
  inputs: [],
  environment: null,
  ...changes,
});
const ATTEMPT = { number: 2, marker: "us-smoke-a2", token: "tok" };

describe("the local plan", () => {
  it("fills in attempt and paths, and calls the wrapper around the payload", async () => {
    const plan = (await launcher()).plan(job(), ATTEMPT);
    const run = "/state/runs/20260131-101500-smoke-ab12";
    expect(plan.cwd).toBe(`${run}/attempts/2`);
    expect(plan.files.map(({ path, mode }) => [path, mode])).toEqual([
      [`${run}/attempts/2/job.json`, 0o644],
      [`${run}/attempts/2/wrapper.sh`, 0o755],
      [`${run}/fence`, 0o644],
    ]);
    expect(JSON.parse(plan.files[0]?.text ?? "")).toEqual({
      schemaVersion: 1,
      kind: "train",
      training: { globalBatch: 8, microBatch: 2 },
      attempt: { number: 2, token: "tok" },
      paths: {
        output: `${run}/output`,
        events: `${run}/events.jsonl`,
        stop: `${run}/attempts/2/STOP`,
        fence: `${run}/fence`,
      },
    });
    expect(plan.argv).toEqual([
      "/bin/sh",
      `${run}/attempts/2/wrapper.sh`,
      "--run",
      run,
      "--attempt",
      "2",
      "--marker",
      "us-smoke-a2",
      "--token",
      "tok",
      "--python",
      "/env/bin/python",
      "--disk-bytes",
      "1001",
      "--grace",
      "120",
      "--keep",
      "HF_HUB_OFFLINE HF_TOKEN HOME LANG OMP_NUM_THREADS PATH PYTHONPATH PYTHONUNBUFFERED",
      "--",
      "/env/bin/python",
      "-m",
      "understudy_payload",
      "train",
      "--manifest",
      `${run}/attempts/2/job.json`,
    ]);
    expect(plan.environment).toEqual({
      PATH: { value: "/usr/bin:/bin" },
      HOME: { value: "/home/me" },
      LANG: { value: "C.UTF-8" },
      HF_HUB_OFFLINE: { value: "1" },
      OMP_NUM_THREADS: { value: "2" },
      PYTHONPATH: { value: "/payload" },
      PYTHONUNBUFFERED: { value: "1" },
      HF_TOKEN: { secret: "HF_TOKEN" },
    });
  });

  it("trains with as many processes as the profile says, and does everything else with one", async () => {
    const four = await launcher({ processes: 4 });
    const after = (one: Job): string => four.plan(one, ATTEMPT).argv.join(" ").split(" -- ")[1] ?? "";
    expect(after(job())).toMatch(
      /^\/env\/bin\/python -m understudy_payload train --manifest \S+ --processes 4$/,
    );
    expect(after(job({ kind: "score" }))).toMatch(
      /^\/env\/bin\/python -m understudy_payload score --manifest \S+$/,
    );
  });

  it("is printed whole, the same each time, with names for secrets", async () => {
    const text = planText((await launcher()).plan(job(), ATTEMPT));
    expect(text).toBe(planText((await launcher()).plan(job(), ATTEMPT)));
    expect(text).toContain("HF_TOKEN  (secret, read when the job starts)");
    expect(text).toContain('"token": "tok"');
    expect(text).toContain("mode 0755, 17 bytes, sha256 ");
    expect(text).not.toContain("hf_verysecret");
    expect(text).not.toContain("STRAY");
  });

  it("refuses a marker that some launcher could not use", async () => {
    const local = await launcher();
    expect(() => local.plan(job(), { ...ATTEMPT, marker: "a b" })).toThrow(/cannot name a job/);
  });

  it("answers a missing secret before anything is started", async () => {
    const folder = temporaryFolder().path;
    const local = await launcher();
    const answer = await local.submit(
      local.plan(job({ runFolder: folder, secrets: ["OTHER_TOKEN"] }), ATTEMPT),
    );
    expect(answer).toMatchObject({ outcome: "rejected", hint: expect.stringContaining("OTHER_TOKEN") });
  });
});

describe("validate", () => {
  const codes = async (changes: Partial<Job>, settings: object = {}): Promise<string[]> =>
    (await launcher(settings)).validate(job(changes)).map(({ code }) => code);

  it("has nothing to say about a good job", async () => {
    expect(await codes({})).toEqual([]);
    expect(await codes({}, { processes: 4 })).toEqual([]);
  });

  it("shows the arithmetic of a batch that does not come out even", async () => {
    const [problem] = (await launcher({ processes: 3 })).validate(job());
    expect(problem?.code).toBe("BATCH_NOT_WHOLE");
    expect(problem?.message).toBe(
      "globalBatch 8 is not a multiple of microBatch 2 × 3 processes = 6: accumulation would be 1.33",
    );
    expect(problem?.hint).toContain("6 or 12");
    expect(await codes({ kind: "score", manifest: { kind: "score" } }, { processes: 3 })).toEqual([]);
  });

  it("reports every problem at once", async () => {
    const manifest = {
      kind: "infer",
      model: { path: "models/x" },
      tasks: [{ output: "/ok" }, { output: "out" }],
    };
    const secrets = ["hf_abcdef", "OK_TOKEN"];
    expect(
      await codes({
        runId: "a/b",
        runFolder: "runs/x",
        python: "python3",
        manifest,
        secrets,
        diskBytes: NaN,
      }),
    ).toEqual([
      "RUN_ID_INVALID",
      "KIND_MISMATCH",
      "DISK_INVALID",
      "PATH_INVALID",
      "PATH_INVALID",
      "PATH_INVALID",
      "PATH_INVALID",
      "SECRET_NAME_INVALID",
    ]);
  });
});

describe("preflight", () => {
  it("prints both numbers of the disk, and refuses what cannot work", async () => {
    const checks = await (
      await launcher({ device: "cuda" })
    ).preflight(
      job({
        runFolder: join(payload, "not/yet"),
        python: "/nowhere/python",
        diskBytes: 9e18,
        secrets: ["HF_TOKEN", "NO_TOKEN"],
      }),
    );
    expect(checks.map(({ name, outcome }) => [name, outcome])).toEqual([
      ["python", "failed"],
      ["disk", "failed"],
      ["state folder", "ok"],
      ["secret HF_TOKEN", "ok"],
      ["secret NO_TOKEN", "failed"],
      ["gpus", "failed"],
    ]);
    expect(checks[1]?.detail).toMatch(
      /GB free, 9000000000\.0 GB needed \(\d+ and 9000000000000000000 bytes\)/,
    );
  });

  it("is content with a machine that can run the job", async () => {
    mkdirSync(join(payload, "understudy_payload"), { recursive: true });
    writeFileSync(join(payload, "understudy_payload/__init__.py"), "");
    const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], {
      encoding: "utf8",
    }).trim();
    const checks = await (
      await launcher()
    ).preflight(job({ runFolder: join(payload, "not/yet"), python, payload, diskBytes: 10 }));
    expect(checks.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
  });
});
