import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { jobKey, type JobRef } from "../../../src/launch/index.ts";
import { attemptOf, fileOf, logHolds, temporaryFolder } from "../support.ts";
import { localBench, machine, type SshBench } from "./support.ts";

describe("how a job is detached", () => {
  const folders: { remove(): void }[] = [];
  afterAll(() => {
    for (const folder of folders) folder.remove();
  });
  const stage = async (
    name: string,
    {
      programs,
      ...settings
    }: { programs: Record<string, string> } & Partial<Omit<Parameters<typeof localBench>[1], "machines">>,
  ): Promise<SshBench> => {
    const folder = temporaryFolder();
    folders.push(folder);
    const made = machine(folder.path, name, []);
    const bin = join(folder.path, `machine-${name}`, "bin");
    for (const [program, text] of Object.entries(programs)) {
      writeFileSync(join(bin, program), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, program), 0o755);
    }
    return localBench(folder.path, { machines: [made], ...settings });
  };
  const KILLS = 'case "$1" in show-session) echo KillUserProcesses=yes ;;';

  it("is a unit of the user's own manager where logout ends everything", async () => {
    const bench = await stage("strict", {
      programs: {
        loginctl: `${KILLS} show-user) echo Linger=yes ;; esac`,
        "systemd-run": 'shift 4; UNDERSTUDY_SCOPE=yes; export UNDERSTUDY_SCOPE; exec "$@"',
      },
    });
    const job = bench.job([["environment"]]);
    const answer = await bench.launcher.submit(bench.launcher.plan(job, attemptOf(job)));
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    await logHolds(ref, "}");
    expect(await fileOf(ref, "log")).toContain('"UNDERSTUDY_SCOPE": "yes"');
  });

  it("is refused where logout would end it", async () => {
    const bench = await stage("stricter", {
      programs: { loginctl: `${KILLS} show-user) echo Linger=no ;; *) exit 1 ;; esac` },
    });
    const job = bench.job([["environment"]]);
    expect(await bench.launcher.submit(bench.launcher.plan(job, attemptOf(job)))).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("KillUserProcesses=yes"),
    });
  });

  it("is refused with the words of a setup line that fails", async () => {
    const bench = await stage("setup", {
      programs: {},
      settings: { setup: ["export GREETING='hello there'", "load-module-that-is-not-there cuda"] },
      environment: { ...process.env, TEST_SECRET: "not-to-be-left-behind" },
    });
    const job = bench.job([["environment"]], { secrets: ["TEST_SECRET"] });
    const plan = bench.launcher.plan(job, attemptOf(job));
    expect(await bench.launcher.submit(plan)).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("a setup line of the profile failed with code 127"),
    });
    const ref: JobRef = { kind: "ssh", marker: plan.attempt.marker, folder: plan.cwd, host: "setup" };
    const seen = (await bench.launcher.observe([ref])).get(jobKey(ref));
    expect(seen).toMatchObject({ phase: "ended", result: null, cause: "not_started" });
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(readdirSync(plan.cwd).filter((name) => name.startsWith("secrets"))).toEqual([]);
  });
});
