import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { Plan } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type SlurmBench } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

realSuite("Slurm with accounts, when something breaks:", { programs: LAB_PROGRAMS, root: true }, () => {
  let lab: SlurmLab;
  let bench: SlurmBench;
  beforeAll(async () => {
    lab = await startLab();
    bench = await slurmBench(lab, { login: true });
  });
  afterAll(async () => {
    await bench?.launcher.close();
    await lab?.close();
  });

  const named = (plan: Plan): string[] =>
    lab
      .run(["squeue", "-h", "-t", "all", `--name=${plan.attempt.marker}`, "-o", "%i"])
      .split("\n")
      .filter((line) => line !== "");

  it("the controller hangs during sbatch: ambiguous, settled by the marker, one job", async () => {
    const plan = bench.plan(bench.job([["exit", 0]]));
    lab.pause("slurmctld");
    const answer = await bench.launcher.submit(plan);
    expect(answer).toMatchObject({ outcome: "ambiguous", reason: expect.stringContaining("timed out") });
    expect(await bench.launcher.find(plan)).toMatchObject({ outcome: "unavailable" });
    lab.resume("slurmctld");
    const found = await until(async () => {
      const finding = await bench.launcher.find(plan);
      return finding.outcome === "found" ? finding : undefined;
    });
    expect(found.refs).toHaveLength(1);
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    const [ref] = found.refs;
    if (ref === undefined) throw new Error("no ref");
    expect((await bench.ended(ref)).result?.exitCode).toBe(0);
    expect(named(plan)).toHaveLength(1);
  });

  it("slurmctld is restarted: nothing is said while it is away, and the job goes on", async () => {
    const job = bench.job([["wait", "go"]]);
    const ref = await bench.submit(job);
    await bench.running(ref);
    await lab.stop("slurmctld");
    await bench.seen(ref, ({ phase }) => phase === "unavailable");
    await lab.start("slurmctld");
    await bench.running(ref);
    bench.touch(job, "go");
    expect(await bench.ended(ref)).toMatchObject({ cause: "completed", result: { exitCode: 0 } });
  });

  it("slurmdbd is down: live jobs are live, and an end that only it explains waits for it", async () => {
    const job = bench.job([["wait", "go"]]);
    const ref = await bench.submit(job);
    await bench.running(ref);
    await lab.stop("slurmdbd");
    expect(await bench.observe(ref)).toMatchObject({ phase: "live" });
    expect((await bench.launcher.find(bench.plan(job))).outcome).toBe("found");
    expect((await bench.launcher.find(bench.plan(bench.job([])))).outcome).toBe("unavailable");
    lab.run(["scancel", ref.jobs[0]?.id ?? ""]);
    await bench.seen(ref, ({ phase }) => phase === "unavailable");
    await lab.start("slurmdbd");
    expect(await bench.ended(ref)).toMatchObject({ cause: "cancelled_by_other" });
  });

  it("the node dies: the attempt ends as that, and Slurm goes on with the next", async () => {
    const job = bench.job([["wait", "go"]]);
    const ref = await bench.submit(job);
    await bench.running(ref);
    const node = lab.run(["squeue", "-h", "-j", ref.jobs[0]?.id ?? "", "-o", "%N"]).trim();
    lab.run(["scontrol", "update", `nodename=${node}`, "state=down", "reason=test"]);
    const seen = await bench.ended(ref);
    expect(seen).toMatchObject({ cause: "node_fail", continues: { token: "token-1.2" } });
    const next = seen.continues?.refs[0];
    if (next === undefined) throw new Error("nothing follows");
    await bench.running(next);
    bench.touch(job, "go");
    expect(await bench.ended(next)).toMatchObject({ cause: "completed", result: { exitCode: 0 } });
    // Evidence of an attempt is final, whatever became of its job.
    expect(await bench.observe(ref)).toMatchObject({ phase: "ended", cause: "node_fail" });
  });

  it("a more important job takes the nodes: preempted, and requeued by Slurm", async () => {
    const job = bench.job([["wait-stop"], ["exit", 3]]);
    const ref = await bench.submit(job);
    await bench.running(ref);
    const preemptor = lab
      .run(
        [
          "sbatch",
          "--parsable",
          "-A",
          "ml",
          "--qos=high",
          "-N2",
          "--exclusive",
          "-D/tmp",
          "-o/dev/null",
          "--wrap=sleep 600",
        ],
        "user",
      )
      .trim();
    const seen = await bench.ended(ref);
    expect(seen).toMatchObject({ cause: "preempted", continues: { refs: [{ jobs: ref.jobs }] } });
    lab.run(["scancel", preemptor]);
    const next = seen.continues?.refs[0];
    if (next === undefined) throw new Error("nothing follows");
    await bench.running(next);
    expect(await bench.launcher.cancel(next, "graceful")).toBe("requested");
    expect(await bench.ended(next)).toMatchObject({ cause: "cancelled", result: { exitCode: 3 } });
  });

  it("a job that does not heed its time limit is ended by it; one that does saves", async () => {
    const limited = await slurmBench(lab, { login: true, profile: { time: "1", signalSeconds: 30 } });
    const deaf = await limited.submit(limited.job([["ignore-term"], ["wait", "never"]]));
    const good = await limited.submit(
      limited.job([["wait-stop"], ["write", "saved.txt", "all"], ["exit", 3]]),
    );
    expect(await limited.ended(good)).toMatchObject({ cause: "walltime", result: { exitCode: 3 } });
    expect(await limited.ended(deaf)).toMatchObject({ cause: "walltime" });
    await limited.launcher.close();
  });
});

async function until<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await systemClock.sleep(100);
  }
  throw new Error("it never happened");
}
