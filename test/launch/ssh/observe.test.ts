import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { jobKey, layoutAt, type Job, type JobRef, type Observation } from "../../../src/launch/index.ts";
import { jobProcesses, Supervisor } from "../../../src/launch/supervisor.ts";
import {
  attemptOf,
  fileOf,
  logHolds,
  processesOf,
  sweep,
  temporaryFolder,
  until,
  type Step,
} from "../support.ts";
import { localBench, machine, type SshBench } from "./support.ts";

describe("what a host says about a job when something was killed", () => {
  const folder = temporaryFolder();
  const host = machine(folder.path, "one");
  let bench: SshBench;
  const markers: string[] = [];
  beforeAll(async () => {
    bench = await localBench(folder.path, { machines: [host] });
  });
  afterEach(async () => {
    writeFileSync(host.bootIdFile, readFileSync("/proc/sys/kernel/random/boot_id"));
    for (const marker of markers.splice(0)) await sweep(marker);
  });
  afterAll(() => folder.remove());

  const submit = async (script: readonly Step[]): Promise<{ job: Job; ref: JobRef }> => {
    const job = bench.job(script);
    markers.push(attemptOf(job).marker);
    const answer = await bench.launcher.submit(bench.launcher.plan(job, attemptOf(job)));
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    return { job, ref };
  };
  const observe = async (ref: JobRef): Promise<Observation | undefined> =>
    (await bench.launcher.observe([ref])).get(jobKey(ref));
  const ended = async (ref: JobRef): Promise<Observation> =>
    until(async () => {
      const seen = await observe(ref);
      return seen?.phase === "ended" ? seen : undefined;
    });
  const running = async (ref: JobRef): Promise<Supervisor> =>
    until(async () => {
      const supervisor = Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor")));
      return supervisor.payload === null ? undefined : supervisor;
    });
  const widowed = async (ref: JobRef): Promise<Observation> =>
    until(async () => {
      const seen = await observe(ref);
      return seen?.detail.includes("wrapper is gone") ? seen : undefined;
    });

  it("only the wrapper: live while its program runs, then ended without a result", async () => {
    const { job, ref } = await submit([
      ["say", "up"],
      ["wait", "go"],
    ]);
    const { pid } = await running(ref);
    await logHolds(ref, "up");
    process.kill(pid, "SIGKILL");
    expect(await widowed(ref)).toMatchObject({
      phase: "live",
      warning: expect.stringContaining("wrapper is gone"),
    });
    writeFileSync(join(job.runFolder, "go"), "");
    expect(await ended(ref)).toMatchObject({ result: null });
  });

  it("the whole group: a worker in a session of its own still counts as live", async () => {
    const { ref } = await submit([["worker"], ["say", "up"], ["wait", "never"]]);
    const supervisor = await running(ref);
    await logHolds(ref, "up");
    process.kill(-supervisor.pgid, "SIGKILL");
    await widowed(ref);
    const [worker] = await jobProcesses(supervisor);
    if (worker === undefined) throw new Error("no worker");
    process.kill(worker.pid, "SIGKILL");
    expect(await ended(ref)).toMatchObject({ phase: "ended", result: null });
  });

  it("the wrapper, then cancel now: its orphans are ended all the same", async () => {
    const { ref } = await submit([["ignore-term"], ["worker"], ["say", "up"], ["wait", "never"]]);
    const { pid } = await running(ref);
    await logHolds(ref, "up");
    process.kill(pid, "SIGKILL");
    await widowed(ref);
    expect(await bench.launcher.cancel(ref, "now")).toBe("requested");
    expect(await processesOf(ref)).toEqual([]);
    expect(await ended(ref)).toMatchObject({ result: null });
  });

  it("cancel now leaves processes of other jobs alone", async () => {
    const [one, other] = [await submit([["worker"], ["wait", "never"]]), await submit([["wait", "never"]])];
    await running(one.ref);
    await running(other.ref);
    expect(await bench.launcher.cancel(one.ref, "now")).toBe("requested");
    await ended(one.ref);
    expect(await observe(other.ref)).toMatchObject({ phase: "live" });
  });

  it("a pid that was handed out again is neither live nor killed", async () => {
    const { ref } = await submit([["exit", 0]]);
    await ended(ref);
    const bystander = spawn("sleep", ["60"]);
    const { result, supervisor } = layoutAt(ref.folder);
    const record = Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor")));
    writeFileSync(
      supervisor,
      JSON.stringify({ ...record, pid: bystander.pid, payload: { pid: bystander.pid, startTime: "1" } }),
    );
    rmSync(result);
    expect(await observe(ref)).toMatchObject({ phase: "ended", result: null });
    expect(await bench.launcher.cancel(ref, "now")).toBe("already-ended");
    expect([bystander.exitCode, bystander.signalCode]).toEqual([null, null]);
    bystander.kill("SIGKILL");
  });

  it("the machine: after a restart the job is over, and nobody is signalled", async () => {
    const { ref } = await submit([
      ["say", "up"],
      ["wait", "never"],
    ]);
    await running(ref);
    writeFileSync(host.bootIdFile, "another boot\n");
    expect(await observe(ref)).toEqual({
      phase: "ended",
      result: null,
      cause: "node_fail",
      detail: "one was restarted",
    });
    expect(await bench.launcher.cancel(ref, "now")).toBe("already-ended");
    expect(await processesOf(ref)).toHaveLength(1);
  });

  it("a record of another machine says nothing", async () => {
    const { ref } = await submit([["wait", "never"]]);
    const record = await running(ref);
    const { supervisor } = layoutAt(ref.folder);
    writeFileSync(supervisor, JSON.stringify({ ...record, bootId: "earlier", host: "elsewhere" }));
    expect(await observe(ref)).toMatchObject({
      phase: "unavailable",
      detail: expect.stringContaining("runs on elsewhere"),
    });
  });

  it.each(["supervisor", "result"] as const)("an unreadable %s proves nothing", async (part) => {
    const { ref } = await submit([["wait", "never"]]);
    await running(ref);
    writeFileSync(layoutAt(ref.folder)[part], '{"schemaVersion":1,');
    expect(await observe(ref)).toMatchObject({ phase: "unavailable" });
  });

  it("a claim without a report is a start for a minute, then an end", async () => {
    const job = bench.job([]);
    const plan = bench.launcher.plan(job, attemptOf(job));
    const claim = join(job.runFolder, "claims", plan.attempt.marker);
    mkdirSync(claim, { recursive: true });
    const ref: JobRef = { kind: "ssh", marker: plan.attempt.marker, folder: plan.cwd, host: "one" };
    expect(await observe(ref)).toMatchObject({ phase: "live", state: "starting" });
    const past = Date.now() / 1000 - 120;
    utimesSync(claim, past, past);
    expect(await observe(ref)).toMatchObject({ phase: "ended", result: null });
  });

  it("nobody claimed it: absent; a host that is not in the list: unavailable", async () => {
    const job = bench.job([]);
    const { attempt, cwd } = bench.launcher.plan(job, attemptOf(job));
    const ref: JobRef = { kind: "ssh", marker: attempt.marker, folder: cwd, host: "one" };
    expect(await observe(ref)).toMatchObject({ phase: "absent" });
    expect(await observe({ ...ref, host: "another" })).toMatchObject({
      phase: "unavailable",
      detail: "another is not among the hosts of the profile any more",
    });
  });

  it("answers for many jobs in one question", async () => {
    const jobs = [await submit([["exit", 0]]), await submit([["wait", "never"]])];
    await ended(jobs[0]?.ref ?? { kind: "local", marker: "", folder: "" });
    const seen = await bench.launcher.observe(jobs.map(({ ref }) => ref));
    expect(jobs.map(({ ref }) => seen.get(jobKey(ref))?.phase)).toEqual(["ended", "live"]);
  });
});
