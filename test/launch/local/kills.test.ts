import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { jobKey, layoutAt, type Job, type JobRef, type Observation } from "../../../src/launch/index.ts";
import { jobProcesses, Supervisor } from "../../../src/launch/supervisor.ts";
import { compile } from "../compile.ts";
import {
  attemptOf,
  bench,
  fileOf,
  logHolds,
  processesOf,
  sweep,
  temporaryFolder,
  until,
  type Bench,
  type Step,
} from "../support.ts";

describe("what is left when something is killed", () => {
  const folder = temporaryFolder();
  let local: Bench;
  const markers: string[] = [];
  beforeAll(async () => {
    local = await bench(folder.path);
  });
  afterEach(async () => {
    for (const marker of markers.splice(0)) await sweep(marker);
  });
  afterAll(() => folder.remove());

  const submit = async (script: readonly Step[]): Promise<{ job: Job; ref: JobRef }> => {
    const job = local.job(script);
    markers.push(attemptOf(job).marker);
    const answer = await local.launcher.submit(local.launcher.plan(job, attemptOf(job)));
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    return { job, ref };
  };
  const observe = async (ref: JobRef): Promise<Observation | undefined> =>
    (await local.launcher.observe([ref])).get(jobKey(ref));
  const ended = async (ref: JobRef): Promise<Observation> =>
    until(async () => {
      const seen = await observe(ref);
      return seen?.phase === "ended" ? seen : undefined;
    });
  const supervisorOf = async (ref: JobRef): Promise<Supervisor> =>
    Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor")));
  const running = async (ref: JobRef): Promise<Supervisor & { payload: { pid: number } }> =>
    until(async () => {
      const supervisor = await supervisorOf(ref);
      return supervisor.payload === null ? undefined : { ...supervisor, payload: supervisor.payload };
    });

  it("the submitter, with kill -9: the job goes on and is adopted by its marker", async () => {
    const output = compile(folder.path, ["launch/index.ts", "core/clock.ts"]);
    const job = local.job([
      ["say", "up"],
      ["wait", "go"],
      ["exit", 0],
    ]);
    const attempt = attemptOf(job);
    markers.push(attempt.marker);
    const script = join(folder.path, "submitter.mjs");
    writeFileSync(
      script,
      `import { openLauncher } from ${JSON.stringify(join(output, "launch/index.js"))};
       import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
       const { profile, payload, job, attempt } = JSON.parse(process.argv[2]);
       const launcher = await openLauncher(profile, { clock: systemClock, environment: process.env, payload });
       const answer = await launcher.submit(launcher.plan(job, attempt));
       process.stdout.write(answer.outcome);
       setInterval(() => {}, 1000);`,
    );
    const { profile, payload } = local;
    const submitter = spawn(process.execPath, [script, JSON.stringify({ profile, payload, job, attempt })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said = await new Promise<string>((resolve) => {
      submitter.stdout.once("data", (data: Buffer) => resolve(data.toString()));
    });
    expect(said).toBe("accepted");
    const gone = new Promise((resolve) => submitter.once("exit", resolve));
    submitter.kill("SIGKILL");
    await gone;
    const found = await local.launcher.find(local.launcher.plan(job, attempt));
    const ref = found.outcome === "found" ? found.refs[0] : undefined;
    if (ref === undefined) throw new Error("not found");
    expect(await observe(ref)).toMatchObject({ phase: "live" });
    // Its own session and group: neither a closed terminal nor Ctrl-C reaches it.
    const supervisor = await supervisorOf(ref);
    expect(supervisor.pgid).toBe(supervisor.pid);
    writeFileSync(join(job.runFolder, "go"), "");
    expect(await ended(ref)).toMatchObject({ result: { exitCode: 0 } });
  });

  it("only the wrapper: live while its program runs, then ended without a result", async () => {
    const { job, ref } = await submit([
      ["say", "up"],
      ["wait", "go"],
    ]);
    const { pid } = await running(ref);
    await logHolds(ref, "up");
    process.kill(pid, "SIGKILL");
    const seen = await until(async () => {
      const now = await observe(ref);
      return now?.detail.includes("wrapper is gone") ? now : undefined;
    });
    expect(seen).toMatchObject({ phase: "live", warning: expect.stringContaining("wrapper is gone") });
    writeFileSync(join(job.runFolder, "go"), "");
    expect(await ended(ref)).toMatchObject({ result: null });
  });

  it("only the program: the wrapper ends its workers and says which signal it was", async () => {
    const { ref } = await submit([["worker"], ["say", "up"], ["wait", "never"]]);
    const { payload } = await running(ref);
    await logHolds(ref, "up");
    expect(await processesOf(ref)).toHaveLength(2);
    process.kill(payload.pid, "SIGKILL");
    expect(await ended(ref)).toMatchObject({
      result: { exitCode: 137, signal: "SIGKILL", reason: "signalled" },
    });
    expect(await processesOf(ref)).toEqual([]);
  });

  it("the whole group: a worker in a session of its own still counts as live", async () => {
    const { ref } = await submit([["worker"], ["say", "up"], ["wait", "never"]]);
    const supervisor = await running(ref);
    await logHolds(ref, "up");
    process.kill(-supervisor.pgid, "SIGKILL");
    await until(async () => ((await observe(ref))?.detail.includes("wrapper is gone") ? true : undefined));
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
    await until(async () => ((await observe(ref))?.detail.includes("wrapper is gone") ? true : undefined));
    expect(await local.launcher.cancel(ref, "now")).toBe("requested");
    expect(await processesOf(ref)).toEqual([]);
    expect(await ended(ref)).toMatchObject({ result: null });
  });

  it("a pid that was handed out again is neither live nor killed", async () => {
    const { job, ref } = await submit([["exit", 0]]);
    await ended(ref);
    const bystander = spawn("sleep", ["60"]);
    const { result, supervisor } = layoutAt(ref.folder);
    const record = {
      ...(await supervisorOf(ref)),
      pid: bystander.pid,
      payload: { pid: bystander.pid, startTime: "1" },
    };
    writeFileSync(supervisor, JSON.stringify(record));
    writeFileSync(join(job.runFolder, "kept.json"), readFileSync(result));
    const { unlinkSync } = await import("node:fs");
    unlinkSync(result);
    expect(await observe(ref)).toMatchObject({ phase: "ended", result: null });
    expect(await local.launcher.cancel(ref, "now")).toBe("already-ended");
    expect(bystander.exitCode).toBeNull();
    expect(bystander.signalCode).toBeNull();
    bystander.kill("SIGKILL");
  });

  it("the machine: a record of another boot is over, one of another host says nothing", async () => {
    const { ref } = await submit([
      ["say", "up"],
      ["wait", "never"],
    ]);
    const record = await running(ref);
    const { supervisor } = layoutAt(ref.folder);
    writeFileSync(supervisor, JSON.stringify({ ...record, bootId: "earlier" }));
    expect(await observe(ref)).toMatchObject({ phase: "ended", result: null });
    writeFileSync(supervisor, JSON.stringify({ ...record, bootId: "earlier", host: "elsewhere" }));
    expect(await observe(ref)).toMatchObject({ phase: "unavailable" });
    writeFileSync(supervisor, JSON.stringify(record));
    expect(await observe(ref)).toMatchObject({ phase: "live" });
  });

  it.each(["supervisor", "result"] as const)("an unreadable %s proves nothing", async (part) => {
    const { ref } = await submit([["wait", "never"]]);
    await running(ref);
    writeFileSync(layoutAt(ref.folder)[part], '{"schemaVersion":1,');
    expect(await observe(ref)).toMatchObject({ phase: "unavailable" });
  });

  it("nobody claimed it: absent", async () => {
    const job = local.job([]);
    const plan = local.launcher.plan(job, attemptOf(job));
    expect(await observe({ kind: "local", marker: plan.attempt.marker, folder: plan.cwd })).toMatchObject({
      phase: "absent",
    });
  });
});
