import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { jobKey } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type SlurmBench } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

realSuite("what Slurm's commands answer", { programs: LAB_PROGRAMS, root: true }, () => {
  let lab: SlurmLab;
  let bench: SlurmBench;
  const mood = (program: string, word: string): void =>
    writeFileSync(join(lab.folder, `${program}.mood`), word);
  const calls = (program: string): number => {
    try {
      return readFileSync(join(lab.folder, `${program}.calls`), "utf8").length;
    } catch {
      return 0;
    }
  };
  beforeAll(async () => {
    lab = await startLab();
    const folders = ["squeue", "sacct", "sbatch"].map((program) =>
      lab.shim(
        program,
        `printf . >>${lab.folder}/${program}.calls
case $(cat ${lab.folder}/${program}.mood 2>/dev/null) in
  empty) exit 0 ;;
  text) echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 0 ;;
  fail) echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
  hang) exec sleep 600 ;;
  garbage) "$REAL" "$@" | sed 's/^/??/' ; exit 0 ;;
  talk) echo 'Slurm temporarily unable to accept job, sleeping and retrying' >&2; exec "$REAL" "$@" ;;
  banner) echo 'Welcome 2026'; "$REAL" "$@"; code=$?; echo 'Quota 80'; exit $code ;;
  lost) "$REAL" "$@" >/dev/null; echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1 ;;
  dumb) "$REAL" "$@" >/dev/null; exit 0 ;;
esac
exec "$REAL" "$@"`,
      ),
    );
    bench = await slurmBench(lab, {
      profile: { deadlineSeconds: 3 },
      environment: {
        PATH: [...folders, lab.environment["PATH"]].join(":"),
        SLURM_JOB_ID: "7",
        SQUEUE_STATES: "FAILED",
      },
    });
  });
  beforeEach(() => {
    for (const program of ["squeue", "sacct", "sbatch"]) mood(program, "");
  });
  afterAll(async () => {
    await bench?.launcher.close();
    await lab?.close();
  });

  it.each(["empty", "text", "fail", "hang", "garbage"])(
    "squeue: %s: nothing is said of a job that runs",
    async (word) => {
      const job = bench.job([["wait", "go"]]);
      const ref = await bench.submit(job);
      await bench.running(ref);
      mood("squeue", word);
      const seen = await bench.seen(ref, ({ phase }) => phase !== "live");
      expect(seen.phase).toBe("unavailable");
      // Of one that is not there it does not say `none` either, unless nothing was ever begun.
      if (word !== "empty")
        expect((await bench.launcher.find(bench.plan(bench.job([])))).outcome).toBe("unavailable");
      mood("squeue", "");
      await bench.seen(ref, ({ phase }) => phase === "live");
      bench.touch(job, "go");
      expect(await bench.ended(ref)).toMatchObject({ result: { exitCode: 0 } });
    },
  );

  it.each(["talk", "banner"])("sbatch: %s: accepted once", async (word) => {
    mood("sbatch", word);
    const ref = await bench.submit(bench.job([["exit", 0]]));
    expect(await bench.ended(ref)).toMatchObject({ cause: "completed" });
  });

  it.each(["lost", "dumb"])("sbatch: %s: ambiguous, and found by its marker", async (word) => {
    mood("sbatch", word);
    const plan = bench.plan(bench.job([["exit", 0]]));
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    mood("sbatch", "");
    const found = await bench.launcher.find(plan);
    if (found.outcome !== "found") throw new Error(JSON.stringify(found));
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    const [ref] = found.refs;
    if (ref === undefined) throw new Error("no ref");
    await bench.ended(ref);
    expect(lab.run(["squeue", "-h", "-t", "all", `--name=${ref.marker}`, "-o", "%i"]).trim()).toMatch(
      /^\d+$/,
    );
  });

  it("asks once for all jobs, however they are asked for, and keeps an outer job's variables away", async () => {
    const slow = await slurmBench(lab, {
      profile: { pollSeconds: 600 },
      environment: {
        PATH: bench.environment["PATH"] ?? "",
        SQUEUE_STATES: "FAILED",
        SBATCH_PARTITION: "none",
      },
    });
    const refs = [];
    for (let number = 0; number < 3; number++) refs.push(await slow.submit(slow.job([["exit", 0]])));
    await Promise.all(refs.map(async (ref) => bench.ended(ref)));
    const before = calls("squeue");
    await slow.launcher.observe(refs);
    await Promise.all(refs.map(async (ref) => slow.launcher.observe([ref])));
    const seen = await slow.launcher.observe(refs);
    expect(calls("squeue") - before).toBe(1);
    expect(refs.map((ref) => seen.get(jobKey(ref))?.phase)).toEqual(["ended", "ended", "ended"]);
    await slow.launcher.close();
  });

  it("names the variables that the submission does not get to see", () => {
    expect(bench.plan(bench.job([])).dropped).toEqual(["SLURM_JOB_ID", "SQUEUE_STATES"]);
  });

  it("answers a probe and a preflight with what the cluster says", async () => {
    const checks = new Map((await bench.launcher.probe()).map((check) => [check.name, check]));
    expect(checks.get("slurm")).toMatchObject({ outcome: "ok", detail: "Slurm 22.05.8" });
    expect(checks.get("accounting")?.detail).toContain("slurmdbd");
    expect(checks.get("preemption")?.detail).toContain("comes back by itself");
    const late = await slurmBench(lab, { profile: { partition: "short", time: "2:00:00" } });
    const answers = await late.launcher.preflight(late.job([]));
    expect(answers.find(({ name }) => name === "partition")).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("7200 s"),
    });
    expect(answers.find(({ name }) => name === "sbatch --test-only")?.outcome).toBe("failed");
    const good = await bench.launcher.preflight(bench.job([]));
    expect(good.find(({ name }) => name === "sbatch --test-only")).toMatchObject({ outcome: "ok" });
    const other = await slurmBench(lab, { login: true, profile: { account: "nobody", partition: "nosuch" } });
    const named = await other.launcher.probe();
    expect(named.find(({ name }) => name === "account")).toMatchObject({
      outcome: "failed",
      hint: expect.stringContaining("ml"),
    });
    expect(named.find(({ name }) => name === "partition")).toMatchObject({
      outcome: "failed",
      hint: expect.stringContaining("gpu"),
    });
    await Promise.all([late.launcher.close(), other.launcher.close()]);
  });
});
