import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hasCgroups, LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type SlurmBench } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

realSuite("Slurm without accounts, which forgets ended jobs,", { programs: LAB_PROGRAMS, root: true }, () => {
  let lab: SlurmLab;
  let bench: SlurmBench;
  beforeAll(async () => {
    lab = await startLab({ accounting: "none", minJobAge: 2 });
    bench = await slurmBench(lab);
  });
  afterAll(async () => {
    await bench?.launcher.close();
    await lab?.close();
  });
  const forgotten = async (id: string): Promise<void> => {
    for (;;) {
      if (
        lab
          .run(["squeue", "-h", "-t", "all", "-o", "%i"])
          .split("\n")
          .every((line) => line !== id)
      )
        return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  it("tells the end by the job's own files, and finds it by what sbatch left", async () => {
    const job = bench.job([["exit", 3]]);
    const ref = await bench.submit(job);
    await forgotten(ref.jobs[0]?.id ?? "");
    expect(await bench.ended(ref)).toMatchObject({ result: { exitCode: 3 }, cause: "failed" });
    expect(await bench.launcher.find(bench.plan(job))).toEqual({ outcome: "found", refs: [ref] });
    expect(await bench.launcher.cancel(ref, "graceful")).toBe("already-ended");
  });

  it("says absent of a job that left nothing, never that it succeeded", async () => {
    const job = bench.job([["exit", 0]]);
    const held = await slurmBench(lab, { profile: { extra: ["--hold"] } });
    const ref = await held.submit(job);
    lab.run(["scancel", ref.jobs[0]?.id ?? ""]);
    await forgotten(ref.jobs[0]?.id ?? "");
    expect(await bench.seen(ref, ({ phase }) => phase !== "live")).toMatchObject({ phase: "absent" });
    await held.launcher.close();
  });

  it("goes on after a requeue", async () => {
    const job = bench.job([["wait", "go"]]);
    const ref = await bench.submit(job);
    await bench.running(ref);
    lab.run(["scontrol", "requeue", ref.jobs[0]?.id ?? ""]);
    const seen = await bench.ended(ref);
    const next = seen.continues?.refs[0];
    if (next === undefined) throw new Error(JSON.stringify(seen));
    await bench.running(next);
    bench.touch(job, "go");
    expect(await bench.ended(next)).toMatchObject({ cause: "completed", result: { exitCode: 0 } });
  });

  it("says in a probe that there is no slurmdbd", async () => {
    const checks = await bench.launcher.probe();
    expect(checks.find(({ name }) => name === "accounting")?.detail).toContain("no slurmdbd");
  });
});

realSuite("Slurm with PreemptMode=CANCEL", { programs: LAB_PROGRAMS, root: true }, () => {
  it("ends a preempted job for good, and the next link of its chain goes on", async () => {
    const lab = await startLab({ preempt: "CANCEL" });
    const bench = await slurmBench(lab, { login: true });
    const chain = await slurmBench(lab, { login: true, profile: { chain: 2 } });
    try {
      const alone = await bench.submit(bench.job([["wait-stop"], ["exit", 3]]));
      const first = await chain.submit(chain.job([["wait-stop"], ["exit", 3]]));
      for (const ref of [alone, first]) {
        await bench.running(ref);
      }
      const options = ["--qos=high", "-N2", "--exclusive", "-D/tmp", "-o/dev/null"];
      const preemptor = lab
        .run(["sbatch", "--parsable", "-A", "ml", ...options, "--wrap=sleep 600"], "user")
        .trim();
      const gone = await bench.ended(alone);
      expect(gone).toMatchObject({ cause: "preempted" });
      expect(gone).not.toHaveProperty("continues");
      const seen = await chain.ended(first);
      expect(seen).toMatchObject({ cause: "preempted", continues: { token: "token-1.2" } });
      lab.run(["scancel", preemptor]);
      const next = seen.continues?.refs[0];
      if (next === undefined) throw new Error("nothing follows");
      await chain.running(next);
      const probe = await bench.launcher.probe();
      expect(probe.find(({ name }) => name === "preemption")?.detail).toContain("does not come back");
      await chain.launcher.cancel(next, "now");
      expect(await chain.ended(next)).toMatchObject({ cause: "cancelled" });
    } finally {
      await Promise.all([bench.launcher.close(), chain.launcher.close()]);
      await lab.close();
    }
  });
});

realSuite("Slurm with memory limits", { programs: LAB_PROGRAMS, root: true }, () => {
  // Without control groups of version 1 nothing enforces them: judge.test.ts has the case as a table then.
  describe.runIf(hasCgroups())("in control groups", () => {
    it("says that a job ran out of memory", async () => {
      const lab = await startLab({ cgroups: true });
      const bench = await slurmBench(lab, { login: true, profile: { memory: "60M" } });
      try {
        const plan = bench.plan(bench.job([["wait", "never"]]));
        const greedy = plan.files.map((file) =>
          file.path.endsWith("/job.sh")
            ? {
                ...file,
                text: file.text.replace(
                  "/usr/bin/python3 -m understudy_payload",
                  "/usr/bin/python3 -c 'x = bytearray(400_000_000)' -m understudy_payload",
                ),
              }
            : file,
        );
        const answer = await bench.launcher.submit({ ...plan, files: greedy });
        const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
        if (ref === undefined) throw new Error(JSON.stringify(answer));
        expect(await bench.ended(ref)).toMatchObject({ cause: "out_of_memory" });
      } finally {
        await bench.launcher.close();
        await lab.close();
      }
    });
  });
});
