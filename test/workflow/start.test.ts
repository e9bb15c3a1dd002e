import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeDataStage, packOnce } from "./data-stage.ts";
import { KINDS, makeFarStage, profile, REAL, run, ssh, TINY, weights } from "./start-support.ts";

packOnce();

describe("run start", { timeout: 60_000 }, () => {
  it.each(KINDS)(
    "on %s tells every offline problem at once, before anybody is asked or anything made",
    async (kind, text) => {
      const { stage, port, knocks } = await makeFarStage();
      const staging = kind === "sagemaker" ? "" : "stage: { data: image, model: upload }\n";
      profile(stage, "far", text(port, `processes: 3\n${staging}`));
      const { exitCode, stderr } = await run(stage, [...REAL, "--on", "far"]);
      expect(exitCode).toBe(2);
      const lines = stderr.split("\n");
      expect(lines[0]).toBe("error: The job cannot be started:");
      expect(stderr).toContain("globalBatch 8 is not a multiple of microBatch 1 × 3 processes = 3");
      if (kind !== "sagemaker") expect(stderr).toContain("stage.data: image");
      expect(stderr).toContain("The weights of Qwen/Qwen2.5-Omni-7B");
      expect(knocks()).toBe(0);
    },
  );

  it("names the code of weights that are all that is missing", async () => {
    const { stage, port, knocks } = await makeFarStage();
    profile(stage, "far", ssh(port));
    const { exitCode, stdout } = await run(stage, [...REAL, "--on", "far", "--json"]);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "MODEL_MISSING" } });
    expect(knocks()).toBe(0);
  });

  it("is blocked by a machine that cannot be reached, and leaves no run behind", async () => {
    const { stage, port, knocks } = await makeFarStage();
    weights(stage);
    profile(stage, "far", ssh(port, "deadlineSeconds: 5\n"));
    const { exitCode, stdout, stderr } = await run(stage, [...REAL, "--on", "far"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(/^error: The job would not run here:\n {2}\w+: .*127\.0\.0\.1/);
    expect(knocks()).toBeGreaterThan(0);
    const listed = await run(stage, ["run", "list", "--all", "--json"]);
    expect(JSON.parse(listed.stdout)).toEqual([]);
  });

  it.each(KINDS.filter(([kind]) => kind !== "sagemaker"))(
    "on %s: doctor tells once that the machine cannot be reached, and what to look at",
    async (_, text) => {
      const { stage, port } = await makeFarStage();
      profile(stage, "far", text(port, "deadlineSeconds: 5\n"));
      const { exitCode, stdout } = await run(stage, ["doctor", "--on", "far"]);
      expect(exitCode).toBe(3);
      expect(stdout.match(/FAILED +\w+/g)).toEqual([expect.stringMatching(/^FAILED +connection$/)]);
      expect(stdout).toContain("hint: ");
      expect(stdout).not.toContain("slurmctld");
      expect(stdout).toContain("1 check failed");
    },
  );

  it("blocks with numbers, and records what --force has overruled", async () => {
    const stage = await makeDataStage();
    // Preflight of this machine: the interpreter has lost its packages.
    const environments = join(stage.project.state, "environments");
    const [name = ""] = readdirSync(environments);
    const interpreter = join(environments, name, "bin/python");
    rmSync(interpreter);
    writeFileSync(
      interpreter,
      "#!/bin/sh\ncase $* in *tiny-model*) mkdir -p \"$4\"; printf '%064d\\n' 1 ;; *) echo 3.9.1; exit 1 ;; esac\n",
      { mode: 0o755 },
    );
    const blocked = await run(stage, [...TINY, "--json"]);
    expect(blocked.exitCode).toBe(3);
    expect(JSON.parse(blocked.stdout)).toMatchObject({
      error: { code: "PREFLIGHT_FAILED", message: expect.stringContaining("python: ") },
    });
    const forced = await run(stage, [...TINY, "--force", "--json"]);
    const told = await run(stage, [...TINY, "--force"]);
    expect(told.stderr).toMatch(/^on local: 1 process on this machine\n/);
    expect(told.stderr).toContain("  disk    24.0 MB for 2 checkpoints of 12.0 MB; data, model");
    expect(told.stderr).toMatch(/warning: started although python: .* \(--force, recorded with the run\)\n$/);
    const value: { run: { id: string }; forced: string[] } = JSON.parse(forced.stdout);
    expect(value.forced).toEqual([expect.stringContaining("python: ")]);
    const shop = await stage.shop();
    expect(shop.store.getRun(value.run.id).lock).toMatchObject({ forced: value.forced });
  });
});
