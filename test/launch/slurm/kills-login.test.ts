import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { Finding, Job, Plan } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, LAB_USER, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { compile } from "../compile.ts";
import { attemptOf, slurmBench, type SlurmBench, type SlurmRef } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

realSuite(
  "a controller that is killed while it submits through a login node",
  { programs: LAB_PROGRAMS, root: true },
  () => {
    let lab: SlurmLab;
    let bench: SlurmBench;
    let gate: string;
    let script: string;
    beforeAll(async () => {
      lab = await startLab({ accounting: "none" });
      // sshd runs each command of the controller through it: the N-th asks for the controller's death before it is sent, when it
      // has come (its reply is lost), or after its work, and waits for that. It runs as another user, so the test does the killing.
      gate = join(lab.folder, "gate");
      mkdirSync(gate);
      chmodSync(gate, 0o777);
      writeFileSync(
        join(gate, "gate.sh"),
        `#!/bin/sh
calls=1
while ! mkdir ${gate}/call-$calls 2>/dev/null; do calls=$((calls + 1)); done
read -r when call <${gate}/kill
run() { exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"; }
[ "$calls" = "$call" ] || run
kill_it() {
  : >${gate}/wanted
  tries=0
  until [ -e ${gate}/done ] || [ "$tries" -ge 1000 ]; do sleep 0.02; tries=$((tries + 1)); done
}
case $when in
  before) kill_it ;;
  during) { IFS= read -r line; kill_it; printf '%s\\n' "$line"; exec cat; } | run 2>/dev/null | tee -p ${gate}/reply ;;
  after) (run); kill_it ;;
esac
`,
        { mode: 0o755 },
      );
      const key = join(lab.folder, "ssh/userkey.pub");
      writeFileSync(key, `command="${gate}/gate.sh" ${readFileSync(key, "utf8")}`);
      arm("never", 0);
      bench = await slurmBench(lab, { login: true });
      const output = compile(lab.folder, ["launch/index.ts", "core/clock.ts"]);
      script = join(lab.folder, "submitter.mjs");
      writeFileSync(
        script,
        `import { openLauncher } from ${JSON.stringify(join(output, "launch/index.js"))};
       import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
       const { profile, payload, job, attempt, environment } = JSON.parse(process.argv[2]);
       const launcher = await openLauncher(profile, { clock: systemClock, environment, payload });
       const answer = await launcher.submit(launcher.plan(job, attempt));
       process.stdout.write(answer.outcome);
       await launcher.close();`,
      );
    });
    afterAll(async () => {
      await bench?.launcher.close();
      await lab?.close();
    });

    function arm(when: string, call: number): void {
      for (let number = 1; existsSync(join(gate, `call-${number}`)); number++)
        rmSync(join(gate, `call-${number}`), { recursive: true });
      // The one that is to be killed may still be waiting for it.
      if (when !== "never") for (const name of ["wanted", "done"]) rmSync(join(gate, name), { force: true });
      writeFileSync(join(gate, "kill"), `${when} ${call}\n`);
    }
    /** Submits in a process of its own, and kills it when it is to be; how it ended. */
    const controller = async (job: Job): Promise<string | number | null> => {
      const { profile, payload, environment } = bench;
      const request = { profile, payload, environment, job, attempt: attemptOf(job) };
      const child = spawn(process.execPath, [script, JSON.stringify(request)], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      const ended = new Promise<string | number | null>((resolve) => {
        child.once("exit", (code, signal) => resolve(signal ?? code));
      });
      const watch = setInterval(() => existsSync(join(gate, "wanted")) && child.kill("SIGKILL"), 10);
      const how = await ended;
      clearInterval(watch);
      writeFileSync(join(gate, "done"), "");
      return how;
    };
    const queue = (plan: Plan): string[] =>
      lab
        .run(["squeue", "-h", "-t", "all", `--name=${plan.attempt.marker}`, "-o", "%i"])
        .split("\n")
        .filter((line) => line !== "");
    // What the killed controller had begun goes on there; the next one comes when that is over.
    const settled = async (plan: Plan, isThere: boolean): Promise<Finding> => {
      for (let tries = 0; tries < 100; tries++) {
        const finding = await bench.launcher.find(plan);
        // A command that was on its way may begin a moment later: workflow believes in none only after a while.
        const isOpen = finding.outcome === "unavailable" || (isThere && finding.outcome === "none");
        if (!isOpen) return finding;
        await systemClock.sleep(100);
      }
      throw new Error("it is never settled");
    };
    const refIn = (finding: Finding): SlurmRef => {
      const ref = finding.outcome === "found" ? finding.refs[0] : undefined;
      if (ref?.kind !== "slurm") throw new Error(JSON.stringify(finding));
      return ref;
    };

    it("of three steps: a look, the files, sbatch", async () => {
      arm("never", 0);
      const job = bench.job([["exit", 0]]);
      expect(await controller(job)).toBe(0);
      expect(existsSync(join(gate, "call-3"))).toBe(true);
      expect(existsSync(join(gate, "call-4"))).toBe(false);
      expect(queue(bench.plan(job))).toHaveLength(1);
    });

    const STEPS: readonly (readonly [when: string, call: number, isThere: boolean])[] = [
      ["before", 1, false],
      ["during", 1, false],
      ["after", 1, false],
      ["before", 2, false],
      ["during", 2, false],
      ["after", 2, false],
      ["before", 3, false],
      ["during", 3, true],
      ["after", 3, true],
    ];

    it.each(STEPS)(
      "%s step %i: exactly one job, adopted where it is there already",
      async (when, call, isThere) => {
        const job = bench.job([["wait", "go"]]);
        const plan = bench.plan(job);
        arm(when, call);
        expect(await controller(job)).toBe("SIGKILL");
        arm("never", 0);
        const found = await settled(plan, isThere);
        expect(found.outcome).toBe(isThere ? "found" : "none");
        const ref = isThere ? refIn(found) : await bench.submit(job);
        // A second controller that does not know of the first one's end submits nothing.
        expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
        expect(refIn(await bench.launcher.find(plan)).jobs).toEqual(ref.jobs);
        await bench.running(ref);
        bench.touch(job, "go");
        expect((await bench.ended(ref)).result?.exitCode).toBe(0);
        expect(queue(plan)).toEqual(ref.jobs.map(({ id }) => id));
      },
    );

    it("during the last step, while the next one submits at once: exactly one job", async () => {
      const job = bench.job([["wait", "go"]]);
      const plan = bench.plan(job);
      arm("during", 3);
      expect(await controller(job)).toBe("SIGKILL");
      arm("never", 0);
      expect((await bench.launcher.submit(plan)).outcome).toMatch(/^(accepted|ambiguous)$/);
      const ref = refIn(await settled(plan, true));
      await bench.running(ref);
      bench.touch(job, "go");
      await bench.ended(ref);
      expect(queue(plan)).toEqual(ref.jobs.map(({ id }) => id));
    });

    it("with a secret, after which nothing of it is left, wherever it was killed", async () => {
      const secretly = await slurmBench(lab, { login: true, environment: { PLANTED: "planted4711" } });
      const job = secretly.job([["exit", 0]], { secrets: ["PLANTED"] });
      const plan = secretly.plan(job);
      const folder = join(plan.cwd, "secrets");
      const { profile, payload, environment } = secretly;
      arm("after", 3); // a look, whose secrets they are, the secret
      const request = { profile, payload, environment, job, attempt: attemptOf(job) };
      const child = spawn(process.execPath, [script, JSON.stringify(request)], { stdio: "ignore" });
      while (!existsSync(join(gate, "wanted"))) await systemClock.sleep(10);
      child.kill("SIGKILL");
      writeFileSync(join(gate, "done"), "");
      expect(existsSync(join(folder, "PLANTED"))).toBe(true);
      arm("never", 0);
      expect(await secretly.launcher.find(plan)).toEqual({ outcome: "none" });
      expect(existsSync(folder)).toBe(false);
      // Submitted again, and cancelled before it has begun by somebody else.
      const held = await slurmBench(lab, {
        login: true,
        profile: { extra: ["--hold"] },
        environment: { PLANTED: "planted4711" },
      });
      const ref = await held.submit(job);
      expect(existsSync(join(folder, "PLANTED"))).toBe(true);
      lab.run(["scancel", ref.jobs[0]?.id ?? ""]);
      await held.ended(ref);
      expect(existsSync(folder)).toBe(false);
      expect(lab.run(["stat", "-c", "%U", plan.cwd]).trim()).toBe(LAB_USER);
      await Promise.all([secretly.launcher.close(), held.launcher.close()]);
    });
  },
);
