import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type SlurmBench, type SlurmRef } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

realSuite("two submissions of one run", { programs: LAB_PROGRAMS, root: true }, () => {
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
  const id = ({ jobs }: SlurmRef): string => jobs[0]?.id ?? "";
  const until = async (isIt: () => boolean): Promise<void> => {
    for (let tries = 0; tries < 600 && !isIt(); tries++) await systemClock.sleep(100);
    expect(isIt()).toBe(true);
  };

  it("of which the first has gone on unseen: the next one gets the number after those, and is the one that runs", async () => {
    const job = bench.job([["wait", "go"]]);
    const first = await bench.submit(job);
    await bench.running(first);
    // Slurm starts it again as attempt 2, of which this program is never told.
    lab.run(["scontrol", "requeue", id(first)]);
    await until(() => existsSync(join(job.runFolder, "attempts/2/supervisor.json")));
    expect(await bench.launcher.submit(bench.plan(job, 2))).toMatchObject({ outcome: "rejected", taken: 2 });
    const third = await bench.submit(job, 3);
    // The earlier one sees the new fence and ends; the new one runs under the number that it was given.
    await bench.running(third);
    expect(readFileSync(join(job.runFolder, "fence"), "utf8")).toBe("token-3\n");
    lab.run(["scancel", id(first)]);
    bench.touch(job, "go");
    expect(await bench.ended(third)).toMatchObject({ cause: "completed", result: { marker: third.marker } });
  });

  it("whose first takes the number between look and start: the second goes on under the next one", async () => {
    const held = await slurmBench(lab, { login: true, profile: { extra: ["--hold"] } });
    const job = bench.job([["wait", "go"]]);
    const first = await bench.submit(job);
    await bench.running(first);
    const second = await held.submit(job, 2);
    // As a link does that had passed the fence before the second submission wrote it.
    const claim = join(job.runFolder, "claims", second.marker);
    lab.run(["mkdir", claim], "user");
    lab.run(["sh", "-c", `echo ${id(first)} >${claim}/owner`], "user");
    // The shared look at the queue is a second old.
    const seen = await bench.ended(second);
    expect(seen).toMatchObject({ cause: "fenced", result: null, continues: { token: "token-2.3" } });
    const next = seen.continues?.refs[0];
    if (next?.kind !== "slurm") throw new Error("nothing follows");
    lab.run(["scontrol", "release", id(second)]);
    await bench.running(next);
    expect(await bench.observe(second)).toMatchObject({ cause: "fenced", continues: { token: "token-2.3" } });
    bench.touch(job, "go");
    expect(await bench.ended(next)).toMatchObject({ cause: "completed", result: { exitCode: 0 } });
    lab.run(["scancel", id(first)]);
    await held.launcher.close();
  });

  it("of one plan, of which the one that nobody knows has won: it is ours, it is seen and it can be stopped", async () => {
    const held = await slurmBench(lab, { login: true, profile: { extra: ["--hold"] } });
    const job = bench.job([["wait-stop"], ["exit", 3]]);
    const ref = await held.submit(job);
    // The sbatch that counted as refused, and came late.
    const twin = lab.run(bench.plan(job).argv, "user").trim();
    const seen = await bench.running(ref);
    expect(seen.detail).toContain(`job ${twin}`);
    lab.run(["scontrol", "release", id(ref)]);
    await until(() => lab.run(["squeue", "-h", "-t", "all", "-j", id(ref), "-o", "%T"]).trim() === "FAILED");
    expect(lab.run(["scontrol", "show", "job", id(ref)])).toContain("ExitCode=75:0");
    expect(await bench.observe(ref)).toMatchObject({ phase: "live", state: "running" });
    expect(await bench.launcher.cancel(ref, "graceful")).toBe("requested");
    expect(await bench.ended(ref)).toMatchObject({ cause: "cancelled", result: { exitCode: 3 } });
    // And at once, where it does not save.
    const deaf = held.job([["ignore-term"], ["wait", "never"]]);
    const other = await held.submit(deaf);
    const second = lab.run(bench.plan(deaf).argv, "user").trim();
    await bench.running(other);
    expect(await bench.launcher.cancel(other, "now")).toBe("requested");
    expect((await bench.ended(other)).detail).toContain(`job ${second}: CANCELLED`);
    await held.launcher.close();
  });
});
