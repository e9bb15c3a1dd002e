import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { markerOf, planText, type Plan } from "../../../src/launch/index.ts";
import { markerStem } from "../../../src/launch/marker.ts";
import { planSlurm } from "../../../src/launch/slurm/plan.ts";
import { manifestTemplate } from "../../../src/launch/slurm/plan-template.ts";
import { linksOf, sbatchArgv } from "../../../src/launch/slurm/sbatch.ts";
import { attemptLayout } from "../../../src/launch/attempt-layout.ts";
import { temporaryFolder } from "../support.ts";
import { slurmAttempt, slurmJob, slurmProfile, WORLD } from "./plan-support.ts";

const golden = (name: string): string => join(import.meta.dirname, "golden", `${name}.txt`);

const EVERYTHING = {
  account: "speech",
  partition: "h100,h100-long",
  qos: "normal",
  constraint: "infiniband&h100",
  reservation: "night",
  exclude: ["n7", "n[11-12]"],
  cpusPerTask: 96,
  memory: "0",
  chain: 3,
  signalSeconds: 600,
  graceSeconds: 400,
  umask: "0002",
  setup: ["module load cuda/12.8", "export NCCL_DEBUG=WARN"],
  extra: ["--mail-type=END,FAIL", "--exclusive"],
};
const PYXIS = {
  engine: "pyxis",
  image: `registry/understudy@sha256:${"0f".repeat(32)}`,
  mounts: ["/local:/local"],
};
const APPTAINER = { engine: "apptainer", image: "/lustre/images/understudy.sif" };

const plan = (settings: object = {}, changes = {}, attempt = slurmAttempt()): Plan => {
  const profile = slurmProfile(settings);
  return planSlurm(slurmJob(profile, changes), attempt, { profile, world: WORLD });
};
const script = (one: Plan): string => one.files.find(({ path }) => path.endsWith("/job.sh"))?.text ?? "";

const infer = {
  kind: "infer",
  manifest: {
    schemaVersion: 1,
    kind: "infer",
    tasks: [{ output: "/lustre/understudy/runs/x/output/base/test-seen" }],
  },
} as const;

describe("the plan of a Slurm job is, byte for byte,", () => {
  it.each([
    ["a single job", "single", plan()],
    ["a chain with everything a site may want", "chain", plan(EVERYTHING)],
    [
      "a later attempt that avoids a bad node",
      "resumed",
      plan(EVERYTHING, {}, slurmAttempt(4, { excludedNodes: ["n3", "n7"] })),
    ],
    ["two nodes", "two-nodes", plan({ nodes: 2, cpusPerTask: 96 })],
    ["two nodes in an image of pyxis", "two-nodes-pyxis", plan({ nodes: 2, container: PYXIS })],
    ["an image of pyxis", "pyxis", plan({ container: PYXIS, cpusPerTask: 64 }, { environment: null })],
    ["an image of apptainer", "apptainer", plan({ container: APPTAINER }, { environment: null })],
    ["answers of an agent, with a secret", "infer", plan({}, { ...infer, secrets: ["HF_TOKEN"] })],
    [
      "answers of an agent, on a profile of whole nodes",
      "infer-share",
      plan({ nodes: 2, gres: "gpu:h100:8,nvme:1", cpusPerTask: 96, memory: "900G" }, infer),
    ],
    ["a job without GPUs", "cpu", plan({ device: "cpu", processes: 2, requeue: false })],
  ])("%s", async (_, name, made) => {
    await expect(planText(made)).toMatchFileSnapshot(golden(name));
  });

  it("the same each time", () => {
    expect(plan(EVERYTHING)).toEqual(plan(EVERYTHING));
  });
});

describe("a Slurm plan", () => {
  it("has one command a link, told apart by link number and log alone", () => {
    const made = plan(EVERYTHING);
    expect(linksOf(made)).toBe(3);
    const third = sbatchArgv(made, 3);
    const changed = third.filter((part, index) => part !== sbatchArgv(made, 1)[index]);
    expect(changed.map((part) => part.split("=")[0])).toEqual(["--comment", "--output", "--error", "3"]);
    expect(() => sbatchArgv(made, 4)).toThrow(/no link 4/);
    expect(linksOf(plan())).toBe(1);
  });

  it("holds names of secrets, and nothing of the launching environment", () => {
    const text = JSON.stringify(plan({}, { secrets: ["HF_TOKEN"] }));
    expect(text).toContain("HF_TOKEN");
    expect(text).not.toContain("hf_verysecret");
    expect(text).not.toContain("stray");
    expect(text).not.toContain("/home/me");
  });

  it("comes back by itself unless it reads a secret, which is there only once", () => {
    expect(plan().argv).toContain("--requeue");
    expect(plan({ requeue: false }).argv).toContain("--no-requeue");
    expect(plan({}, { secrets: ["HF_TOKEN"] }).argv).toContain("--no-requeue");
  });

  it("writes percent signs of a folder so that Slurm does not read them", () => {
    const made = plan({}, { runFolder: "/lustre/100%j/runs/x" });
    expect(made.argv).toContain("--output=/lustre/100%%j/runs/x/attempts/1/link-1.txt");
    expect(made.argv).toContain("--chdir=/lustre/100%j/runs/x/attempts/1");
  });

  it("has the node checked for held memory and for its driver, and containers ended by their daemon", () => {
    const jobOf = (profile: ReturnType<typeof slurmProfile>): string =>
      planSlurm(slurmJob(profile), slurmAttempt(), { profile, world: WORLD, cuda: "13.0" }).files.find(
        ({ path }) => path.endsWith("/job.sh"),
      )?.text ?? "";
    expect(jobOf(slurmProfile())).toContain(" --gpus 8 --max-held 1024 --cuda 13.0 ");
    expect(jobOf(slurmProfile())).not.toContain("--containers");
    const container = { engine: "docker", image: `r/u@sha256:${"0".repeat(64)}` };
    expect(jobOf(slurmProfile({ container }))).toContain(" --gpus 8 --max-held 1024 --containers docker ");
    expect(jobOf(slurmProfile({ device: "cpu" }))).not.toMatch(/--gpus|--max-held|--cuda/);
  });

  it("keeps what may hold a token to its owner: setup lines and the environment", () => {
    const { files } = plan({ setup: ["export INDEX_TOKEN=of-the-site"] });
    const holders = files.filter(({ text }) => /of-the-site|^export [A-Z_]+=/m.test(text));
    expect(holders.map(({ path, mode }) => [path.split("/").at(-1), mode.toString(8)])).toEqual([
      ["job.sh", "600"],
    ]);
  });

  it("puts the fence last", () => {
    expect(plan().files.at(-1)?.path).toMatch(/\/fence$/);
  });

  it("refuses a marker that link.sh could not count on from", () => {
    expect(() => plan({}, {}, slurmAttempt(2, { marker: "us-x-a1" }))).toThrow(/cannot name attempt 2/);
  });

  it("needs the link script", () => {
    const profile = slurmProfile();
    const world = { ...WORLD, link: "" };
    expect(() => planSlurm(slurmJob(profile), slurmAttempt(), { profile, world })).toThrow(/link\.sh/);
  });

  it("has scripts that a shell can read", () => {
    const folder = temporaryFolder().path;
    for (const made of [plan(EVERYTHING), plan({ nodes: 2 }), plan({ container: PYXIS })]) {
      const file = join(folder, "job.sh");
      writeFileSync(file, script(made));
      execFileSync("sh", ["-n", file]);
    }
  });
});

describe("the template of a manifest", () => {
  it("becomes the manifest of an attempt, whatever the job's own texts say", () => {
    const profile = slurmProfile();
    const runFolder = '/data/@TOKEN@ "x"/@ATTEMPT@';
    const job = slurmJob(profile, { runFolder });
    const text = manifestTemplate(job, attemptLayout(runFolder, 1));
    const filled = text.replaceAll("@ATTEMPT@", "12").replaceAll("@TOKEN@", "t.12");
    expect(JSON.parse(filled)).toEqual({
      ...job.manifest,
      attempt: { number: 12, token: "t.12" },
      paths: {
        output: `${runFolder}/output`,
        events: `${runFolder}/events.jsonl`,
        fence: `${runFolder}/fence`,
        stop: `${runFolder}/attempts/12/STOP`,
      },
    });
  });
});

describe("markers of a run", () => {
  it.each(["20260131-101500-agent-ab12", "x".repeat(51), "x".repeat(55), "y".repeat(200), "a_b"])(
    "begin alike for %s, so that a far machine can count on",
    (id) => {
      for (const number of [1, 9, 10, 12345])
        expect(markerOf(id, number)).toBe(`${markerStem(id)}-a${number}`);
    },
  );
});

describe("nodes.sh", () => {
  const nodes =
    plan({ nodes: 2, cpusPerTask: 96 }).files.find(({ path }) => path.endsWith("/nodes.sh"))?.text ?? "";

  const run = (args: readonly string[]): string => {
    const folder = temporaryFolder().path;
    mkdirSync(join(folder, "bin"));
    const file = (name: string, text: string): void =>
      writeFileSync(join(folder, name), text, { mode: 0o755 });
    file("nodes.sh", nodes);
    file("bin/scontrol", '#!/bin/sh\n[ "$*" = "show hostnames n[3-4]" ] && printf "n3\\nn4\\n"\n');
    file(
      "bin/srun",
      '#!/bin/sh\necho "$MASTER_ADDR $MASTER_PORT $LOCAL_WORLD_SIZE"\nfor part in "$@"; do echo "[$part]"; done\n',
    );
    return execFileSync("sh", [join(folder, "nodes.sh"), ...args], {
      encoding: "utf8",
      env: {
        PATH: `${folder}/bin:/usr/bin:/bin`,
        SLURM_JOB_ID: "4711",
        SLURM_JOB_NODELIST: "n[3-4]",
        SLURM_JOB_NUM_NODES: "2",
      },
    });
  };

  it("starts all ranks by one srun that meets at the head node on a free port below the kernel's own", () => {
    const said = run(["8", "12", "--container-image=a b", "--", "python", "-m", "x y", "--"]);
    const [, port = ""] = /^n3 (\d+) 8$/m.exec(said) ?? [];
    const [low = ""] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split("\t");
    expect(Number(port)).toBeGreaterThan(1023);
    expect(Number(port)).toBeLessThan(Number(low));
    expect(said.split("\n").filter((line) => line.startsWith("["))).toEqual(
      expect.arrayContaining([
        "[--nodes=2]",
        "[--ntasks=16]",
        "[--ntasks-per-node=8]",
        "[--cpus-per-task=12]",
        "[--export=ALL]",
      ]),
    );
    expect(said).toMatch(
      /\[--container-image=a b\]\n\[\/bin\/sh\]\n\[-c\]\n[^]*\[rank\]\n\[python\]\n\[-m\]\n\[x y\]\n\[--\]\n$/,
    );
  });

  it("leaves the processors to Slurm where the profile says nothing", () => {
    expect(run(["2", "0", "--", "python", "x"])).not.toContain("cpus-per-task");
  });
});
