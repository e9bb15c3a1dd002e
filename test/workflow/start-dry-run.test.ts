import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { packOnce, prepared } from "./data-stage.ts";
import { KINDS, makeFarStage, profile, REAL, run, ssh, TINY, weights } from "./start-support.ts";
import { repository } from "./support.ts";

packOnce();

describe("run start --dry-run", { timeout: 60_000 }, () => {
  it.each(KINDS)(
    "on %s prints what goes where and exactly what is sent, and asks nobody",
    async (kind, text) => {
      const { stage, port, knocks } = await makeFarStage();
      weights(stage);
      profile(stage, "far", text(port));
      const { exitCode, stdout, stderr } = await run(stage, [...REAL, "--on", "far", "--dry-run"]);
      expect({ exitCode, stderr: stderr.replaceAll(/^warning:.*\n/gm, "") }).toEqual({
        exitCode: 0,
        stderr: "",
      });
      const [first, sends] = stdout.split("\n");
      expect(first).toMatch(/^on far: .*8 processes/);
      expect(sends).toMatch(
        /^ {2}sends {3}at most \d+ files, .*payload \d+ files.*data 2 files.*model 2 files/,
      );
      expect(stdout).toContain("estimate, a LOWER BOUND by arithmetic (nothing was measured):");
      expect(stdout).toContain(
        kind === "sagemaker" ? "results s3://my-bucket/understudy/runs/" : "results /far/runs/",
      );
      // Of the payload one line; every other file with its digest, the two of the model included.
      expect(
        stdout.match(/^ {2}payload {2}\/?\S+\/ {2}\d+ files, \d+ bytes, sha256 of the tree [0-9a-f]{64} /gm),
      ).toHaveLength(1);
      expect(stdout).not.toContain("understudy_payload/__main__.py  ");
      expect(stdout).toContain(sha256("weights"));
      expect(stdout).toContain(sha256("{}"));
      expect(stdout).toContain(`${kind} attempt 1 of `);
      expect(stdout).toContain("TOKEN-DRAWN-AT-START");
      expect(knocks()).toBe(0);
      expect(readdirSync(stage.project.state)).not.toContain("runs");
      const listed = await run(stage, ["run", "list", "--all", "--json"]);
      expect(JSON.parse(listed.stdout)).toEqual([]);
    },
  );

  it.each(["my-ssh", "my-slurm", "my-sagemaker"])("works with the example %s as it is", async (name) => {
    const { stage } = await makeFarStage();
    weights(stage);
    const file = `${name}.example.yaml`;
    cpSync(join(repository, "launchers", file), join(stage.project.launchers, file));
    const { exitCode, stdout, stderr } = await run(stage, [...REAL, "--on", `${name}.example`, "--dry-run"]);
    expect({ exitCode, error: /error:.*/s.exec(stderr)?.[0] }).toEqual({ exitCode: 0, error: undefined });
    expect(stdout).toContain(`on ${name}.example: `);
  });

  it("names the tree of the payload by what sha256sum says of its files, and lists them when asked", async () => {
    const { stage, port } = await makeFarStage();
    weights(stage);
    profile(stage, "far", ssh(port));
    const words = [...REAL, "--on", "far", "--dry-run"];
    const brief = (await run(stage, words)).stdout;
    const whole = (await run(stage, [...words, "--verbose"])).stdout;
    const listed = [
      ...whole.matchAll(/^ {2}payload {2}(\S+) {2}(\d+) bytes, sha256 ([0-9a-f]{64}), from /gm),
    ];
    const [, folder = "", files, bytes, tree] =
      /^ {2}payload {2}(\S+\/) {2}(\d+) files, (\d+) bytes, sha256 of the tree ([0-9a-f]{64})/m.exec(brief) ??
      [];
    expect(listed).toHaveLength(Number(files));
    expect(listed.reduce((sum, [, , size]) => sum + Number(size), 0)).toBe(Number(bytes));
    const lines = listed.map(([, path = "", , digest]) => `${digest}  ${path.slice(folder.length)}\n`);
    expect(sha256(lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(""))).toBe(tree);
    // The rest is the same to the letter, but for the id that is drawn each time.
    const rest = (text: string): string =>
      text
        .replaceAll(/^ {2}payload .*\n/gm, "")
        .replaceAll(/real-[a-z2-9]{6}/g, "ID")
        .replaceAll(/sha256 \S+/g, "");
    expect(rest(brief)).toBe(rest(whole));
  });

  it("begins the run's name with the recipe's", async () => {
    const { stage, port } = await makeFarStage();
    weights(stage);
    profile(stage, "far", ssh(port));
    const { stdout } = await run(stage, [...REAL, "--on", "far", "--dry-run"]);
    expect(stdout).toMatch(/^ssh attempt 1 of real-[a-z2-9]{6}$/m);
  });

  it("gives scripts the same as JSON", async () => {
    const { stage, port } = await makeFarStage();
    weights(stage);
    profile(stage, "far", ssh(port));
    const { exitCode, stdout } = await run(stage, [...REAL, "--on", "far", "--dry-run", "--json"]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: {
        where: "8 processes on 127.0.0.1",
        sends: [{ role: "payload" }, { role: "data", files: 2 }, { role: "model", files: 2, bytes: 9 }],
      },
      estimate: { bound: { tokens: { from: "counted" } }, machine: { gpus: 8, assumed: true } },
      plan: expect.stringContaining("understudy_payload/__main__.py  "),
      checks: [],
    });
  });

  it("shows a plan although the weights are not here yet, and says so", async () => {
    const { stage, port } = await makeFarStage();
    profile(stage, "far", ssh(port));
    const { exitCode, stderr } = await run(stage, [...REAL, "--on", "far", "--dry-run"]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain("warning: it cannot be started yet: The weights of Qwen/Qwen2.5-Omni-7B");
    expect(stderr).toContain("hf download Qwen/Qwen2.5-Omni-7B --revision");
    profile(stage, "far", ssh(port, "stage: { model: node-download }\n"));
    const downloaded = await run(stage, [...REAL, "--on", "far", "--dry-run"]);
    expect(downloaded.stderr).not.toContain("cannot be started");
  });

  it("builds no environment and no model for it", async () => {
    const { stage, port } = await makeFarStage();
    profile(stage, "far", ssh(port, "processes: 2\ndevice: cpu\n"));
    const { exitCode, stdout, stderr } = await run(stage, [
      ...TINY,
      "--set",
      "training.microBatch=2",
      "--on",
      "far",
      "--dry-run",
    ]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: "warning: the tiny model is made at the start: its revision and files are not known yet\n",
    });
    expect(stdout).toContain("/far/models/REVISION-MADE-AT-START");
    expect(readdirSync(stage.project.state)).not.toContain("models");
  });

  it("sends a tiny model that was made here like any other", async () => {
    const { stage, port } = await makeFarStage();
    const made = await prepared(await stage.shop(), "20260131-101500-made-ab12");
    const { revision }: { revision: string } = JSON.parse(JSON.stringify(made.job.manifest["model"]));
    profile(stage, "far", ssh(port, "processes: 2\ndevice: cpu\nstage: { model: existing }\n"));
    const words = [...TINY, "--set", "training.microBatch=2", "--on", "far", "--dry-run"];
    const { exitCode, stdout, stderr } = await run(stage, words);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain(`/far/models/${revision}/`);
    expect(stdout).toMatch(/sends .*; model \d+ files/);
    expect(stdout).not.toContain("must be there already");
  });

  it("trains from data that lies there already without a packed copy here", async () => {
    const { stage, port } = await makeFarStage();
    weights(stage);
    rmSync(join(stage.project.datasets, "packed"), { recursive: true });
    profile(stage, "far", ssh(port));
    expect((await run(stage, [...REAL, "--on", "far", "--dry-run"])).exitCode).toBe(2);
    profile(stage, "far", ssh(port, "stage: { data: existing }\n"));
    const { exitCode, stdout } = await run(stage, [...REAL, "--on", "far", "--dry-run"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/there {3}2 files, .* must be there already/);
    expect(stdout).toContain("/far/data/greenroom/data/");
  });
});
