import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { Finding, Job, Plan } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { compile } from "../compile.ts";
import { attemptOf, slurmBench, type SlurmBench, type SlurmRef } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

realSuite(
  "a controller that is killed while it submits to Slurm",
  { programs: LAB_PROGRAMS, root: true },
  () => {
    let lab: SlurmLab;
    let bench: SlurmBench;
    let chained: SlurmBench;
    let script: string;
    beforeAll(async () => {
      lab = await startLab({ accounting: "none" });
      // Each kills the controller at its N-th call: before, while or after it does its work.
      const folders = ["sbatch", "sync"].map((program) =>
        lab.shim(
          program,
          `printf . >>${lab.folder}/${program}.calls
read -r when call <${lab.folder}/${program}.kill
[ "$(wc -c <${lab.folder}/${program}.calls)" -ge "$call" ] && mkdir ${lab.folder}/${program}.killed 2>/dev/null || exec "$REAL" "$@"
kill_it() { kill -9 "$(cat ${lab.folder}/controller.pid)"; }
case $when in
  before) kill_it; exit 1 ;;
  during) kill_it; exec "$REAL" "$@" ;;
  after) "$REAL" "$@"; code=$?; kill_it; exit $code ;;
esac`,
        ),
      );
      const environment = { PATH: [...folders, lab.environment["PATH"]].join(":") };
      bench = await slurmBench(lab, { environment });
      chained = await slurmBench(lab, { environment, profile: { chain: 3 } });
      const output = compile(lab.folder, ["launch/index.ts", "core/clock.ts"]);
      script = join(lab.folder, "submitter.mjs");
      writeFileSync(
        script,
        `import { writeFileSync } from "node:fs";
       import { openLauncher } from ${JSON.stringify(join(output, "launch/index.js"))};
       import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
       const { profile, payload, job, attempt, environment, pid } = JSON.parse(process.argv[2]);
       writeFileSync(pid, String(process.pid));
       const launcher = await openLauncher(profile, { clock: systemClock, environment, payload });
       const answer = await launcher.submit(launcher.plan(job, attempt));
       process.stdout.write(answer.outcome);
       await launcher.close();`,
      );
    });
    afterAll(async () => {
      await Promise.all([bench?.launcher.close(), chained?.launcher.close()]);
      await lab?.close();
    });

    const arm = (program: string, when: string, call: number): void => {
      for (const name of ["sbatch", "sync"]) {
        for (const trace of ["calls", "killed"]) {
          rmSync(join(lab.folder, `${name}.${trace}`), { force: true, recursive: true });
        }
        writeFileSync(
          join(lab.folder, `${name}.kill`),
          name === program ? `${when} ${call}\n` : "never 1000000\n",
        );
      }
    };
    const controller = async (
      { profile, payload, environment }: SlurmBench,
      job: Job,
    ): Promise<string | number | null> => {
      const request = {
        profile,
        payload,
        environment,
        job,
        attempt: attemptOf(job),
        pid: join(lab.folder, "controller.pid"),
      };
      const child = spawn(process.execPath, [script, JSON.stringify(request)], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      return new Promise((resolve) => {
        child.once("exit", (code, signal) => resolve(signal ?? code));
      });
    };
    const queue = (plan: Plan): string[] =>
      lab
        .run(["squeue", "-h", "-t", "all", `--name=${plan.attempt.marker}`, "-o", "%i %k"])
        .split("\n")
        .filter((line) => line !== "");
    // What the killed controller had begun goes on; the next one comes when that is over.
    const settled = async (of: SlurmBench, plan: Plan): Promise<Finding> => {
      for (let tries = 0; tries < 300; tries++) {
        const finding = await of.launcher.find(plan);
        const isDoubtful = finding.outcome === "found" && finding.doubt !== undefined;
        if (finding.outcome !== "unavailable" && !isDoubtful) return finding;
        await systemClock.sleep(200);
      }
      throw new Error("it is never settled");
    };
    const finish = async (of: SlurmBench, job: Job, ref: SlurmRef): Promise<void> => {
      await of.running(ref);
      of.touch(job, "go");
      expect((await of.ended(ref)).result?.exitCode).toBe(0);
    };
    const refIn = (finding: Finding): SlurmRef => {
      const ref = finding.outcome === "found" ? finding.refs[0] : undefined;
      if (ref?.kind !== "slurm") throw new Error(JSON.stringify(finding));
      return ref;
    };

    it.each([
      ["before its first file is there", "sync", "before", 1],
      ["before its files have their names", "sync", "during", 1],
      ["before sbatch, its files being there", "sync", "after", 2],
    ])("%s: nothing was submitted, and the next one submits it", async (_name, program, when, call) => {
      const job = bench.job([["wait", "go"]]);
      const plan = bench.plan(job);
      arm(program, when, call);
      expect(await controller(bench, job)).toBe("SIGKILL");
      arm("none", "never", 0);
      expect(await settled(bench, plan)).toEqual({ outcome: "none" });
      const ref = await bench.submit(job);
      await finish(bench, job, ref);
      expect(queue(plan)).toHaveLength(1);
    });

    it.each(["during", "after"])("%s sbatch: exactly one job, adopted", async (when) => {
      const job = bench.job([["wait", "go"]]);
      const plan = bench.plan(job);
      arm("sbatch", when, 1);
      expect(await controller(bench, job)).toBe("SIGKILL");
      arm("none", "never", 0);
      const ref = refIn(await settled(bench, plan));
      expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
      await finish(bench, job, ref);
      expect(queue(plan)).toHaveLength(1);
    });

    it("before sbatch: what may have been submitted is waited for, then submitted once", async () => {
      const job = bench.job([["wait", "go"]]);
      const plan = bench.plan(job);
      arm("sbatch", "before", 1);
      expect(await controller(bench, job)).toBe("SIGKILL");
      arm("none", "never", 0);
      const record = join(plan.cwd, "submission/link-1");
      for (let tries = 0; tries < 300 && !existsSync(join(record, "code")); tries++)
        await systemClock.sleep(20);
      expect(readFileSync(join(record, "code"), "utf8")).toBe("1\n");
      expect(await bench.launcher.find(plan)).toMatchObject({ outcome: "unavailable" });
      expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
      utimesSync(record, new Date(Date.now() - 120_000), new Date(Date.now() - 120_000));
      expect(await settled(bench, plan)).toEqual({ outcome: "none" });
      const ref = await bench.submit(job);
      await finish(bench, job, ref);
      expect(queue(plan)).toHaveLength(1);
    });

    it.each([
      ["after", 1, 2],
      ["during", 2, 1],
      ["after", 2, 1],
      ["after", 3, 0],
    ])(
      "%s the sbatch of link %i: the chain gets its missing links, each once",
      async (when, call, missing) => {
        const job = chained.job([["wait", "go"]]);
        const plan = chained.plan(job);
        arm("sbatch", when, call);
        expect(await controller(chained, job)).toBe("SIGKILL");
        arm("none", "never", 0);
        const found = await settled(chained, plan);
        expect(found).toMatchObject({
          outcome: "found",
          ...(missing === 0 ? {} : { missingLinks: missing }),
        });
        const answer = await chained.launcher.submit(plan);
        expect(answer.outcome).toBe(missing === 0 ? "ambiguous" : "accepted");
        const ref = refIn(await settled(chained, plan));
        expect(ref.jobs.map(({ link }) => link)).toEqual([1, 2, 3]);
        if (answer.outcome === "accepted") expect(answer.refs).toEqual([ref]);
        const links = queue(plan).map((line) => /"link":(\d)/.exec(line)?.[1]);
        expect(links).toHaveLength(3);
        expect(new Set(links)).toEqual(new Set(["1", "2", "3"]));
        await finish(chained, job, ref);
      },
    );
  },
);
