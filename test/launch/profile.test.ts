import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectAt } from "../../src/core/project.ts";
import {
  isMarker,
  LauncherProfile,
  loadProfile,
  markerOf,
  profileNames,
  shellQuote,
} from "../../src/launch/index.ts";
import { temporaryFolder } from "./support.ts";

describe("markers", () => {
  it("are the run and the attempt, as long as every launcher can use that", () => {
    expect(markerOf("20260131-101500-smoke-ab12", 3)).toBe("us-20260131-101500-smoke-ab12-a3");
  });

  it.each(["x".repeat(200), "SpeechRole_ood/α", "-", "a--b", "é", "x".repeat(55), `${"y".repeat(50)}-`])(
    "are legal for %s, different for each run and attempt",
    (id) => {
      const markers = [markerOf(id, 1), markerOf(id, 12345), markerOf(`${id}z`, 1)];
      expect(markers.filter((marker) => !isMarker(marker))).toEqual([]);
      expect(new Set(markers).size).toBe(3);
      expect(markerOf(id, 1)).toBe(markers[0]);
    },
  );
});

describe("a Slurm profile", () => {
  it.each([
    { memory: "0" },
    { memory: "64000" },
    { memory: "900GB" },
    { gres: "none" },
    { gres: "gpu:8" },
    { gres: "gres:gpu:h100:8,nvme:1" },
    { gres: "gpu:a100_3g.20gb:1" },
    { gres: "gpu:h100" },
    { gres: "bandwidth:ib:4G" },
    { exclude: ["n[11-12,14]"] },
    { constraint: "a100&ib|h100" },
    { extra: ["--comment=two words"] },
  ])("takes what Slurm takes: %j", (settings) => {
    const paths = { data: "/d", models: "/m", env: "/e", runs: "/r" };
    const profile = { schemaVersion: 1, kind: "slurm", time: "1:00:00", paths, ...settings };
    expect(LauncherProfile.safeParse(profile).error).toBeUndefined();
  });
});

describe("shellQuote", () => {
  it.each(["", "plain", "a b", "it's", '"$HOME`x`"', "line\nbreak", "ünï", "-n", "a\\b", "*"])(
    "is read back unchanged: %j",
    (text) => {
      const echoed = execFileSync("/bin/sh", ["-c", `printf %s ${shellQuote(text)}`], { encoding: "utf8" });
      expect(text === "" ? shellQuote(text) : echoed).toBe(text === "" ? "''" : text);
    },
  );
});

describe("loadProfile", () => {
  const root = temporaryFolder().path;
  const project = projectAt(root);
  mkdirSync(project.launchers);
  writeFileSync(join(project.launchers, "good.yaml"), "schemaVersion: 1\nkind: local\nprocesses: 8\n");
  writeFileSync(
    join(project.launchers, "bad.yaml"),
    "schemaVersion: 1\nkind: local\nprocesses: 0\nthread: 3\ndevice: tpu\n",
  );
  writeFileSync(join(project.launchers, "other.yaml"), "schemaVersion: 1\nkind: cloud\n");

  it("reads a profile with its defaults", async () => {
    expect(await loadProfile(project, "good")).toEqual({
      schemaVersion: 1,
      kind: "local",
      processes: 8,
      device: "auto",
      graceSeconds: 120,
    });
  });

  it("takes one process for a CPU that is not here, and eight for GPUs, unless it says how many", () => {
    const paths = { data: "/d", models: "/m", env: "/e", runs: "/r" };
    const machines = [
      { kind: "ssh", hosts: [{ host: "h" }], paths },
      { kind: "slurm", time: "1:00:00", paths },
    ];
    for (const machine of machines) {
      const processes = (more: object): unknown =>
        LauncherProfile.parse({ schemaVersion: 1, ...machine, ...more }).processes;
      expect(
        [{}, { device: "cuda" }, { device: "cpu" }, { device: "cpu", processes: 4 }].map(processes),
      ).toEqual([8, 8, 1, 4]);
    }
  });

  it("lists every problem with its place", async () => {
    const file = join(project.launchers, "bad.yaml");
    const message = await loadProfile(project, "bad").catch((error: unknown) => String(error));
    for (const place of [`${file}:3:1 processes`, `${file}:4:1 thread: unknown key`, `${file}:5:1 device`]) {
      expect(message).toContain(place);
    }
    await expect(loadProfile(project, "other")).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  it.each(["none", "../launchers/good", "", "a/b"])("names the profiles that exist for %j", async (name) => {
    await expect(loadProfile(project, name)).rejects.toMatchObject({
      code: "PROFILE_UNKNOWN",
      hint: "profiles here: bad, good, other",
    });
  });

  it("accepts the committed profiles, and lists examples as no profiles", async () => {
    const committed = projectAt(join(import.meta.dirname, "../.."));
    expect(await loadProfile(committed, "local")).toMatchObject({ kind: "local", processes: 1 });
    const kinds = ["ssh", "slurm", "sagemaker"];
    for (const kind of kinds) {
      expect(await loadProfile(committed, `my-${kind}.example`)).toMatchObject({ kind, processes: 8 });
    }
    expect((await profileNames(committed)).filter((name) => name.includes("example"))).toEqual([]);
    await expect(loadProfile(committed, "my-slurm")).rejects.toMatchObject({
      code: "PROFILE_UNKNOWN",
      hint: expect.stringMatching(
        /^copy the example and fill it in: cp .*my-slurm\.example\.yaml .*my-slurm\.yaml; profiles here: local/,
      ),
    });
  });
});

describe("a profile with mistakes", () => {
  const root = temporaryFolder().path;
  const project = projectAt(root);
  mkdirSync(project.launchers);
  const PATHS = "paths: { data: /d, models: /m, env: /e, runs: /r }\n";
  const SSH = `schemaVersion: 1\nkind: ssh\n${PATHS}`;
  const SLURM = `schemaVersion: 1\nkind: slurm\n${PATHS}`;
  const SAGEMAKER =
    "schemaVersion: 1\nkind: sagemaker\nregion: us-east-1\nrole: arn:aws:iam::123456789012:role/r\nimage: i\nbucket: bucket\n";

  it.each([
    [
      "a misspelt key",
      `${SSH}hosts: [{ host: a }]\nproceses: 8\n`,
      ["5:1 proceses: unknown key; did you mean processes?"],
    ],
    [
      "a misspelt key inside",
      `${SSH}hosts:\n  - host: a\n    usr: me\n`,
      ["6:5 hosts[0].usr: unknown key; did you mean user?"],
    ],
    ["a key of another kind", `${SSH}hosts: [{ host: a }]\npartition: x\n`, ["5:1 partition: unknown key"]],
    [
      "a relative path",
      `schemaVersion: 1\nkind: ssh\nhosts: [{ host: a }]\npaths:\n  data: scratch\n  models: /m\n  env: /e\n  runs: ~/runs\n`,
      [
        '5:3 paths.data: must be an absolute path on one line, not "scratch"',
        '8:3 paths.runs: must be an absolute path on one line, not "~/runs"',
      ],
    ],
    [
      "a bad time",
      `${SLURM}time: 12h\n`,
      ['4:1 time: must be a Slurm time such as 12:00:00 or 2-00:00:00, not "12h"'],
    ],
    [
      "an empty chain",
      `${SLURM}time: "12:00:00"\nchain: 0\n`,
      ["5:1 chain: too small: expected number to be >=1, not 0"],
    ],
    [
      "negative numbers",
      `${SLURM}time: "12:00:00"\nprocesses: -8\nsignalSeconds: -1\n`,
      [
        "5:1 processes: too small: expected number to be >0, not -8",
        "6:1 signalSeconds: too small: expected number to be >0, not -1",
      ],
    ],
    ["no host", `${SSH}hosts: []\n`, ["4:1 hosts: too small"]],
    ["an empty host", `${SSH}hosts: [{ host: "" }]\n`, ["4:11 hosts[0].host: too small"]],
    [
      "missing paths",
      "schemaVersion: 1\nkind: slurm\ntime: 60\n",
      ["paths: missing; expected object", "time: expected string, not 60"],
    ],
    [
      "an option of sbatch that is none",
      `${SLURM}time: "1:00:00"\nextra: [mail]\n`,
      ["extra[0]: must be one long sbatch option"],
    ],
    [
      "words that Slurm cannot read",
      `${SLURM}time: soon\nmemory: lots\ngres: gpu:h100:eight\nsignalSeconds: 70000\npartition: two words\nqos: ""\nexclude: [n7;rm]\n`,
      [
        '4:1 time: must be a Slurm time such as 12:00:00 or 2-00:00:00, not "soon"',
        '5:1 memory: must be a whole number and K, M, G or T such as 900G, or 0 for all of the node, not "lots"',
        '6:1 gres: must be NAME:COUNT or NAME:TYPE:COUNT such as gpu:h100:8, several with commas, not "gpu:h100:eight"',
        "7:1 signalSeconds: too big: expected number to be <=65535, not 70000",
        '8:1 partition: must be one word, not "two words"',
        '9:1 qos: must be one word, not ""',
        '10:11 exclude[0]: must be the name of a node such as n7 or n[11-12], not "n7;rm"',
      ],
    ],
    [
      "an engine that is none",
      `${SLURM}time: "1:00:00"\ncontainer: { engine: podman, image: x }\n`,
      ["container.engine: expected apptainer or pyxis or docker"],
    ],
    [
      "a bad ARN and region",
      SAGEMAKER.replace("us-east-1", "Virginia").replace(/role: .*/, "role: me"),
      ["3:1 region: ", '4:1 role: must be an ARN, not "me"'],
    ],
  ])("is told of %s, all of them, with their places", async (_, text, expected) => {
    const file = join(project.launchers, "wrong.yaml");
    writeFileSync(file, text);
    const error = await loadProfile(project, "wrong").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "FILE_INVALID" });
    for (const line of expected) expect(String(error)).toContain(line);
    expect(String(error).split("\n").slice(1)).toHaveLength(expected.length);
    for (const line of String(error).split("\n").slice(1))
      expect(line).toMatch(/^ {2}\/.*wrong\.yaml:\d+:\d+ /);
  });
});
