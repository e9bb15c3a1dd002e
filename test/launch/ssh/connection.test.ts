import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import {
  jobKey,
  planText,
  type Job,
  type JobRef,
  type Launcher,
  type Plan,
} from "../../../src/launch/index.ts";
import { realSuite } from "../../support/real-suite.ts";
import { startSshd } from "../../real/sshd/sshd.ts";
import { attemptOf, fileOf, logHolds, sweep, until } from "../support.ts";
import { sshdBench, type SshdBench, type SshdBenchOptions } from "./sshd-bench.ts";

realSuite(
  "jobs on hosts that come and go",
  { programs: ["sshd", "ssh", "setsid", "unshare"], root: true },
  () => {
    const markers: string[] = [];
    const benches: SshdBench[] = [];
    afterEach(async () => {
      for (const marker of markers.splice(0)) await sweep(marker);
    });
    afterAll(async () => {
      for (const bench of benches) await bench.remove();
    });
    const stage = async (options: SshdBenchOptions = {}): Promise<SshdBench> => {
      const bench = await sshdBench(options);
      benches.push(bench);
      return bench;
    };
    const planned = (launcher: Launcher, job: Job, attempt = 1): Plan => {
      markers.push(attemptOf(job, attempt).marker);
      return launcher.plan(job, attemptOf(job, attempt));
    };
    const submit = async (launcher: Launcher, plan: Plan): Promise<JobRef> => {
      const answer = await launcher.submit(plan);
      const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
      if (ref === undefined) throw new Error(JSON.stringify(answer));
      return ref;
    };
    const hostOf = (ref: JobRef): string => (ref.kind === "ssh" ? ref.host : "");
    const restart = async (bench: SshdBench, index: number, newHostKey = false): Promise<void> => {
      const machine = bench.machines[index];
      if (machine === undefined) throw new Error("no machine");
      const { port } = machine.sshd;
      await machine.sshd.stop();
      const variables = Object.entries(machine.environment).map(([key, value]) => `${key}=${value}`);
      const again = await startSshd(join(bench.folder, `sshd-${machine.name}`), {
        port,
        newHostKey,
        config: [`SetEnv ${variables.join(" ")}`],
      });
      Object.assign(machine.sshd, again);
    };

    it("a restart of sshd changes nothing, and each log line comes once", { timeout: 90_000 }, async () => {
      const bench = await stage();
      const { launcher } = bench;
      const job = bench.job([
        ["say", "before"],
        ["wait", "go"],
        ["say", "after"],
        ["wait", "end"],
      ]);
      const plan = planned(launcher, job);
      const ref = await submit(launcher, plan);
      const lines: string[] = [];
      const stop = new AbortController();
      const followed = (async () => {
        for await (const chunk of launcher.logs(ref, { offset: 0 }, { follow: true, signal: stop.signal })) {
          lines.push(...chunk.lines);
          if (lines.includes("after")) stop.abort();
        }
      })();
      await until(async () => (lines.length > 0 ? true : undefined));
      await bench.machines[0]?.sshd.stop();
      expect((await launcher.observe([ref])).get(jobKey(ref))).toMatchObject({ phase: "unavailable" });
      const finding = await launcher.find(plan);
      expect(finding).toMatchObject({ outcome: "unavailable", reason: expect.stringContaining(hostOf(ref)) });
      writeFileSync(join(job.runFolder, "go"), "");
      await restart(bench, 0);
      expect((await launcher.observe([ref])).get(jobKey(ref))).toMatchObject({ phase: "live" });
      expect(await launcher.find(plan)).toEqual({ outcome: "found", refs: [ref] });
      await followed;
      expect(lines).toEqual(["before", "after"]);
    });

    it("a changed host key is refused before anything is sent", { timeout: 60_000 }, async () => {
      const bench = await stage({ environment: { ...process.env, TEST_SECRET: "never-to-be-sent" } });
      await restart(bench, 0, true);
      const job = bench.job([], { secrets: ["TEST_SECRET"] });
      const plan = planned(bench.launcher, job);
      const answer = await bench.launcher.submit(plan);
      expect(answer).toMatchObject({
        outcome: "rejected",
        reason: expect.stringMatching(/the key of .* has changed/),
      });
      expect(answer).not.toHaveProperty("retry");
      expect(await bench.launcher.find(plan)).toMatchObject({ outcome: "unavailable" });
      expect(readdirSync(join(bench.folder, "runs"))).toEqual([]);
      expect(existsSync(bench.machines[0]?.locks ?? "")).toBe(false);
      const [check] = (await bench.launcher.probe()).filter(({ outcome }) => outcome === "failed");
      expect(check?.detail).toMatch(/the key of .* has changed/);
    });

    it("a run goes on where its checkpoints lie", { timeout: 90_000 }, async () => {
      const bench = await stage({
        machines: { a: ["GPU-A, 90000"], b: ["GPU-B, 0"] },
        unshared: true,
        settings: { device: "cuda" },
      });
      const { launcher } = bench;
      const job = bench.job([["wait", "go"]]);
      const first = await submit(launcher, planned(launcher, job));
      const nameOf = (index: number): string =>
        `understudy-test@127.0.0.1:${bench.machines[index]?.sshd.port}`;
      expect(hostOf(first)).toBe(nameOf(1));
      await launcher.cancel(first, "now");
      const runOnB = join(bench.folder, "runs-of-b", job.runId);
      mkdirSync(join(runOnB, "output", "checkpoint-2"), { recursive: true });
      writeFileSync(join(runOnB, "output", "checkpoint-2", "_COMPLETE.json"), "{}");
      writeFileSync(join(bench.folder, "machine-a", "gpus"), "GPU-A, 0\n");
      const second = await submit(launcher, planned(launcher, job, 2));
      expect(hostOf(second)).toBe(nameOf(1));
      await launcher.cancel(second, "now");
      // Not even when that host is busy, or cannot be asked: elsewhere it would begin at step 0.
      writeFileSync(join(bench.folder, "machine-b", "gpus"), "GPU-B, 50000\n");
      expect(await launcher.submit(planned(launcher, job, 3))).toMatchObject({
        outcome: "rejected",
        retry: "no_capacity",
        reason: expect.stringContaining(`the checkpoints of this run lie on ${nameOf(1)}`),
      });
      await bench.machines[1]?.sshd.stop();
      expect(await launcher.submit(planned(launcher, job, 3))).toMatchObject({
        outcome: "rejected",
        retry: "unreachable",
        reason: expect.stringContaining(nameOf(1)),
      });
    });

    it("a run that has saved nothing may move, and takes its events along", { timeout: 90_000 }, async () => {
      const bench = await stage({
        machines: { a: ["GPU-A, 0"], b: ["GPU-B, 0"] },
        unshared: true,
        settings: { device: "cuda" },
      });
      const { launcher } = bench;
      const event = { v: 1, type: "started", note: "角色" };
      const job = bench.job([
        ["event", event],
        ["say", "up"],
        ["wait", "go"],
      ]);
      const first = await submit(launcher, planned(launcher, job));
      await until(async () => {
        const store = launcher.artifacts(first);
        return store.read("events.jsonl").then(
          () => true as const,
          () => undefined,
        );
      });
      const before = Buffer.from(await launcher.artifacts(first).read("events.jsonl")).toString();
      await launcher.cancel(first, "now");
      writeFileSync(join(bench.folder, "machine-a", "gpus"), "GPU-A, 90000\n");
      const second = await submit(launcher, planned(launcher, job, 2));
      expect(hostOf(second)).not.toBe(hostOf(first));
      const after = await until(async () => {
        const text = Buffer.from(await launcher.artifacts(second).read("events.jsonl")).toString();
        return text.length > before.length ? text : undefined;
      });
      expect(after).toBe(before + before);
    });

    it("a secret is nowhere but in the job's environment", { timeout: 60_000 }, async () => {
      const secret = `planted-${process.pid}-${"x".repeat(20)}`;
      const bench = await stage({ environment: { ...process.env, TEST_SECRET: secret } });
      const { launcher } = bench;
      const job = bench.job(
        [
          ["say", "up"],
          ["wait", "go"],
        ],
        { secrets: ["TEST_SECRET"] },
      );
      const plan = planned(launcher, job);
      expect(planText(plan) + JSON.stringify(plan)).not.toContain(secret);
      const seen = new Set<string>();
      const watch = setInterval(() => {
        for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
          try {
            if (readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(secret)) seen.add(pid);
          } catch {
            // It has ended.
          }
        }
      }, 5);
      const ref = await submit(launcher, plan);
      await logHolds(ref, "up");
      await launcher.find(plan);
      await launcher.observe([ref]);
      writeFileSync(join(job.runFolder, "go"), "");
      await until(async () =>
        (await launcher.observe([ref])).get(jobKey(ref))?.phase === "ended" ? true : undefined,
      );
      clearInterval(watch);
      expect([...seen]).toEqual([]);
      expect(await fileOf(ref, "result")).toContain('"exitCode":0');
      const files = readdirSync(bench.folder, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      expect(files.length).toBeGreaterThan(10);
      const holders = files
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => readFileSync(path, "latin1").includes(secret));
      expect(holders).toEqual([]);
    });
  },
);
