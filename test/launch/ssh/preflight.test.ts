import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { sshLauncher } from "../../../src/launch/ssh/launcher.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import type { Check, Launcher } from "../../../src/launch/index.ts";
import { attemptOf, sweep, temporaryFolder } from "../support.ts";
import { farPayload, jobMaker, machine, profileOf, worldOf } from "./support.ts";

describe("preflight over a list of hosts", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  const payload = farPayload(folder.path);
  const here = machine(folder.path, "here", []);

  const launcherOf = async (
    names: readonly string[],
    settings: Record<string, unknown> = {},
  ): Promise<{ launcher: Launcher; job: ReturnType<typeof jobMaker> }> => {
    const hosts = names.map((host) => ({ host }));
    const profile = profileOf(folder.path, { hosts, ...settings });
    const launcher = await sshLauncher(
      profile,
      worldOf(payload, { PATH: process.env["PATH"] }),
      async ({ host }) => {
        if (host !== "here") throw new Error(`${host} is switched off`);
        const { PATH, HOME } = process.env;
        return localTransport({ clock: systemClock, environment: { PATH, HOME, ...here.environment } });
      },
    );
    return { launcher, job: jobMaker(folder.path, payload, profile) };
  };
  const named = (checks: readonly Check[], name: string): readonly string[] =>
    checks.filter((check) => check.name.endsWith(name)).map(({ outcome }) => outcome);

  it("is content with one host that could take the job", async () => {
    const { launcher, job } = await launcherOf(["away", "here"]);
    const checks = await launcher.preflight(job([]));
    expect(named(checks, "away: connection")).toEqual(["unknown"]);
    expect(named(checks, "here: lock")).toEqual(["ok"]);
  });

  it("fails when no host could, each with its reason", async () => {
    const { launcher, job } = await launcherOf(["away", "gone"]);
    const checks = await launcher.preflight(job([]));
    expect(checks.map(({ name, outcome, detail }) => [name, outcome, detail])).toEqual([
      ["away: connection", "failed", "away is switched off"],
      ["gone: connection", "failed", "gone is switched off"],
    ]);
    expect(named(await launcher.probe(), "away: connection")).toEqual(["failed"]);
  });

  it("says that a run would wait for one of ours, and names a secret that is not set", async () => {
    const { launcher, job } = await launcherOf(["here"], { jobsPerHost: 1 });
    const first = job([["wait", "never"]]);
    const { marker } = attemptOf(first);
    expect((await launcher.submit(launcher.plan(first, attemptOf(first)))).outcome).toBe("accepted");
    const checks = await launcher.preflight(job([], { secrets: ["TEST_SECRET"] }));
    expect(checks).toContainEqual({
      name: "lock",
      outcome: "unknown",
      detail: `1 jobs at once are allowed there; a run started now waits for ${marker}`,
    });
    expect(named(checks, "secret TEST_SECRET")).toEqual(["failed"]);
    await sweep(marker);
  });

  it("says that GPUs are missing which no waiting brings", async () => {
    const { launcher } = await launcherOf(["here"], { device: "cuda" });
    const [lock] = (await launcher.probe()).filter(({ name }) => name === "lock");
    expect(lock).toEqual({ name: "lock", outcome: "failed", detail: "it has 0 GPUs, 1 are needed" });
  });
});
