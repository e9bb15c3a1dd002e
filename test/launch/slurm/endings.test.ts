import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Plan } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type SlurmBench, type SlurmRef } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

realSuite("how a job ends, or does not begin:", { programs: LAB_PROGRAMS, root: true }, () => {
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

  const stateOf = (ref: SlurmRef): string =>
    lab.run(["squeue", "-h", "-t", "all", "-j", ref.jobs[0]?.id ?? "", "-o", "%T"]).trim();

  it("somebody else cancels it, while it runs and while it waits", async () => {
    const [running, waiting] = [await bench.submit(bench.job([["wait", "go"]])), await waitingJob()];
    await bench.running(running);
    lab.run(["scancel", running.jobs[0]?.id ?? "", waiting.jobs[0]?.id ?? ""]);
    expect(await bench.ended(running)).toMatchObject({ cause: "cancelled_by_other" });
    expect(await bench.ended(waiting)).toMatchObject({ cause: "cancelled_by_other", result: null });
  });

  it("a waiting job is cancelled without having run; asking again says that it has ended", async () => {
    const ref = await waitingJob();
    expect(await bench.observe(ref)).toMatchObject({ phase: "live", state: "queued" });
    expect(await bench.launcher.cancel(ref, "graceful")).toBe("requested");
    await bench.launcher.cancel(ref, "graceful");
    expect(await bench.ended(ref)).toMatchObject({ cause: "cancelled", result: null });
    expect(await bench.launcher.cancel(ref, "now")).toBe("already-ended");
  });

  it("only the exact job is cancelled, not the others of its user", async () => {
    const other = lab
      .run(["sbatch", "--parsable", "-A", "ml", "-D/tmp", "-o/dev/null", "--wrap=sleep 600"], "user")
      .trim();
    const ref = await bench.submit(bench.job([["worker"], ["wait", "go"]]));
    await bench.running(ref);
    await bench.launcher.cancel(ref, "now");
    await bench.ended(ref);
    expect(lab.run(["squeue", "-h", "-j", other, "-o", "%T"]).trim()).toBe("RUNNING");
    lab.run(["scancel", other]);
  });

  it("COMPLETED while the trainer failed: the result says so", async () => {
    const plan = changed(bench.plan(bench.job([["exit", 1]])), (text) =>
      text.replace(/^exec (.*)$/m, "$1 | cat"),
    );
    const ref = await accepted(plan);
    expect(await bench.ended(ref)).toMatchObject({ cause: "failed", result: { exitCode: 1 } });
    expect(stateOf(ref)).toBe("COMPLETED");
  });

  it("the folder of its output is missing: nothing of ours has run", async () => {
    const plan = bench.plan(bench.job([["exit", 0]]));
    const [program, ...rest] = plan.argv.map((word) =>
      word.startsWith("--output=") || word.startsWith("--error=")
        ? word.replace(/=.*/, "=/nonexistent/log.txt")
        : word,
    );
    const ref = await accepted({ ...plan, argv: [program ?? "", ...rest] });
    expect(await bench.ended(ref)).toMatchObject({
      cause: "not_started",
      result: null,
      detail: expect.stringContaining("nothing of ours has run"),
    });
  });

  it("a setup line fails: its own words are said, and on which machine", async () => {
    const broken = await slurmBench(lab, {
      login: true,
      profile: { setup: ["echo no such module", "false"] },
    });
    const ref = await broken.submit(broken.job([["exit", 0]]));
    expect(await broken.ended(ref)).toMatchObject({
      cause: "not_started",
      result: null,
      node: expect.stringMatching(/^[\w-]+$/),
      detail: expect.stringMatching(
        /attempts\/1\/link-1\.txt ends: no such module \| understudy: a setup line of the profile failed with code 1$/,
      ),
    });
    await broken.launcher.close();
  });

  it("the working folder is missing: the job runs all the same, all its paths are absolute", async () => {
    const plan = bench.plan(bench.job([["exit", 0]]));
    const [program, ...rest] = plan.argv.map((word) => word.replace(/^--chdir=.*/, "--chdir=/nonexistent"));
    expect(await bench.ended(await accepted({ ...plan, argv: [program ?? "", ...rest] }))).toMatchObject({
      cause: "completed",
    });
  });

  it("a second job with the same marker ends fenced and writes nothing", async () => {
    const job = bench.job([
      ["say", "once"],
      ["wait", "go"],
    ]);
    const plan = bench.plan(job);
    const ref = await bench.submit(job);
    await bench.running(ref);
    const twin = lab.run(plan.argv, "user").trim();
    // As if another project had submitted it, with a token of its own.
    const second: SlurmRef = { ...ref, jobs: [{ id: twin, link: 1 }], token: "another" };
    expect(await bench.ended(second)).toMatchObject({ cause: "fenced" });
    await bench.seen(ref, () => stateOf(second) === "FAILED");
    expect(lab.run(["scontrol", "show", "job", twin])).toContain("ExitCode=75:0");
    // To who has that token, the job that won is its own, whichever it is.
    expect(await bench.observe({ ...second, token: ref.token })).toMatchObject({ state: "running" });
    expect(await bench.observe(ref)).toMatchObject({ phase: "live", state: "running" });
    bench.touch(job, "go");
    expect(await bench.ended(ref)).toMatchObject({ result: { exitCode: 0 } });
    const lines: string[] = [];
    for await (const chunk of bench.launcher.logs(
      ref,
      { offset: 0 },
      { follow: false, signal: new AbortController().signal },
    ))
      lines.push(...chunk.lines);
    expect(lines).toEqual(["once"]);
  });

  it("a refusal is one at once, a limit of jobs in the queue may pass", async () => {
    const wrong = await slurmBench(lab, { login: true, profile: { account: "nobody" } });
    expect(await wrong.launcher.submit(wrong.plan(wrong.job([])))).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("Invalid account"),
      hint: expect.stringContaining("account:"),
    });
    const narrow = await slurmBench(lab, { login: true, profile: { qos: "single" } });
    const job = narrow.job([["wait", "go"]]);
    const first = await narrow.submit(job);
    const plan = narrow.plan(narrow.job([["exit", 0]]));
    expect(await narrow.launcher.submit(plan)).toMatchObject({ outcome: "rejected", retry: "no_capacity" });
    expect(await narrow.launcher.find(plan)).toEqual({ outcome: "none" });
    narrow.touch(job, "go");
    await narrow.ended(first);
    expect((await narrow.launcher.submit(plan)).outcome).toBe("accepted");
    await Promise.all([wrong.launcher.close(), narrow.launcher.close()]);
  });

  async function waitingJob(): Promise<SlurmRef> {
    const held = await slurmBench(lab, { login: true, profile: { extra: ["--hold"] } });
    const ref = await held.submit(held.job([["exit", 0]]));
    await held.launcher.close();
    return ref;
  }

  async function accepted(plan: Plan): Promise<SlurmRef> {
    const answer = await bench.launcher.submit(plan);
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref?.kind !== "slurm") throw new Error(JSON.stringify(answer));
    return ref;
  }
});

// The script of the job alone; everything else is as planned.
function changed(plan: Plan, change: (text: string) => string): Plan {
  return {
    ...plan,
    files: plan.files.map((file) =>
      file.path.endsWith("/job.sh") ? { ...file, text: change(file.text) } : file,
    ),
  };
}
