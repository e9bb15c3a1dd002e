import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { jobKey, type Job, type JobRef, type Plan, type Submission } from "../../../src/launch/index.ts";
import { readHostScripts } from "../../../src/launch/ssh/ask-host.ts";
import { Supervisor } from "../../../src/launch/supervisor.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import { attemptOf, fileOf, logHolds, sweep, temporaryFolder, until, type Step } from "../support.ts";
import { localBench, machine, setGpus, type Machine, type SshBench } from "./support.ts";

const ONE = "GPU-11111111-aaaa";
const TWO = "GPU-22222222-bbbb";

describe("GPU locks of a host", () => {
  const markers: string[] = [];
  afterEach(async () => {
    for (const marker of markers.splice(0)) await sweep(marker);
  });
  const folders: { remove(): void }[] = [];
  afterAll(() => {
    for (const folder of folders) folder.remove();
  });

  interface Stage extends SshBench {
    readonly machines: readonly Machine[];
    readonly folder: string;
  }
  const stage = async (
    gpus: Readonly<Record<string, readonly string[]>>,
    settings: Record<string, unknown> = {},
  ): Promise<Stage> => {
    const folder = temporaryFolder();
    folders.push(folder);
    const machines = Object.entries(gpus).map(([name, lines]) => machine(folder.path, name, lines));
    const bench = await localBench(folder.path, { machines, settings: { device: "cuda", ...settings } });
    return { ...bench, machines, folder: folder.path };
  };
  const planned = ({ launcher }: SshBench, job: Job): Plan => {
    markers.push(attemptOf(job).marker);
    return launcher.plan(job, attemptOf(job));
  };
  const submit = async (bench: SshBench, job: Job): Promise<Submission> =>
    bench.launcher.submit(planned(bench, job));
  const accepted = (answer: Submission): JobRef => {
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    return ref;
  };
  const ended = async ({ launcher }: SshBench, ref: JobRef): Promise<void> => {
    await until(async () => {
      const seen = (await launcher.observe([ref])).get(jobKey(ref));
      return seen?.phase === "ended" ? true : undefined;
    });
  };
  const hold: readonly Step[] = [["environment"], ["wait", "go"]];
  const letGo = (job: Job): void => writeFileSync(join(job.runFolder, "go"), "");

  it("gives two launches at once different hosts, and the third none for now", async () => {
    const bench = await stage({ a: [`${ONE}, 3`], b: [`${TWO}, 5`] });
    const jobs = [bench.job(hold), bench.job(hold)];
    const answers = await Promise.all(jobs.map(async (job) => submit(bench, job)));
    const hosts = answers.map((answer) => {
      const ref = accepted(answer);
      return ref.kind === "ssh" ? ref.host : "";
    });
    expect(hosts.toSorted()).toEqual(["a", "b"]);
    const third = bench.job(hold);
    const refused = await submit(bench, third);
    expect(refused).toMatchObject({ outcome: "rejected", retry: "no_capacity" });
    expect(refused).toMatchObject({ reason: expect.stringContaining("0 of 1 GPUs are free, 1 are needed") });
    // Free again as soon as one ends.
    const [first] = jobs;
    const [answer] = answers;
    if (first === undefined || answer === undefined) throw new Error("no job");
    letGo(first);
    await ended(bench, accepted(answer));
    await until(async () => ((await submit(bench, third)).outcome === "accepted" ? true : undefined));
  });

  it("tells the job which GPUs it has, and shares a host when there are enough", async () => {
    const bench = await stage({ a: [`${ONE}, 3`, `${TWO}, 3`] });
    const refs = [
      accepted(await submit(bench, bench.job(hold))),
      accepted(await submit(bench, bench.job(hold))),
    ];
    const seen = await Promise.all(
      refs.map(async (ref) => {
        await logHolds(ref, "}");
        const value: unknown = JSON.parse((await fileOf(ref, "log")).trim());
        return value;
      }),
    );
    expect(seen).toMatchObject([{ CUDA_VISIBLE_DEVICES: ONE }, { CUDA_VISIBLE_DEVICES: TWO }]);
    expect(seen[0]).not.toHaveProperty("UNDERSTUDY_LEASE");
  });

  it("does not count a GPU as free whose memory somebody else holds", async () => {
    const bench = await stage({ a: [`${ONE}, 61000`] });
    const job = bench.job(hold);
    expect(await submit(bench, job)).toEqual({
      outcome: "rejected",
      retry: "no_capacity",
      reason: `a: 0 of 1 GPUs are free, 1 are needed; ${ONE} holds 61000 MiB`,
    });
    setGpus(bench.folder, "a", [`${ONE}, 1024`]);
    accepted(await submit(bench, job));
  });

  it("does not wait for GPUs that the host will never have", async () => {
    const bench = await stage({ a: [`${ONE}, 3`] }, { processes: 2 });
    const job = bench.job(hold, { kind: "train" });
    expect(await submit(bench, job)).toEqual({
      outcome: "rejected",
      reason: "a: it has 1 GPUs, 2 are needed",
    });
  });

  it("is held by the wrapper, and free when that is killed with its program", async () => {
    const bench = await stage({ a: [`${ONE}, 3`] });
    const first = bench.job([["worker"], ["say", "up"], ["wait", "never"]]);
    const ref = accepted(await submit(bench, first));
    await logHolds(ref, "up");
    const { pid } = Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor")));
    process.kill(-pid, "SIGKILL");
    // Its worker, in a session of its own, still counts.
    const second = bench.job(hold);
    expect(await submit(bench, second)).toMatchObject({ outcome: "rejected", retry: "no_capacity" });
    await sweep(ref.marker);
    await until(async () => ((await submit(bench, second)).outcome === "accepted" ? true : undefined));
  });

  it("does not outlive the machine's boot", async () => {
    const bench = await stage({ a: [`${ONE}, 3`] });
    accepted(await submit(bench, bench.job(hold)));
    expect((await submit(bench, bench.job(hold))).outcome).toBe("rejected");
    writeFileSync(bench.machines[0]?.bootIdFile ?? "", "another boot\n");
    accepted(await submit(bench, bench.job(hold)));
  });

  it("is never given to a pid that was handed out again", async () => {
    const bench = await stage({ a: [`${ONE}, 3`] });
    const bystander = spawn("sleep", ["60"]);
    const folder = join(bench.machines[0]?.locks ?? "", "us-other-a1.token");
    mkdirSync(folder, { recursive: true });
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    writeFileSync(join(folder, `run-${bystander.pid}-1-${boot}`), `${ONE}\n`);
    accepted(await submit(bench, bench.job(hold)));
    bystander.kill("SIGKILL");
  });

  it("keeps a reservation while it is renewed, and gives a silent one away", async () => {
    const bench = await stage({ a: [`${ONE}, 3`] });
    const folder = join(bench.machines[0]?.locks ?? "", "us-other-a1.token");
    mkdirSync(folder, { recursive: true });
    const lease = join(folder, "lease-0123456789abcdef");
    writeFileSync(lease, `${ONE}\n`);
    const job = bench.job(hold);
    expect(await submit(bench, job)).toMatchObject({ outcome: "rejected", retry: "no_capacity" });
    const past = Date.now() / 1000 - 600;
    utimesSync(lease, past, past);
    accepted(await submit(bench, job));
  });

  it("lets as many jobs run on a CPU as the profile says, and any number when it says nothing", async () => {
    const free = await stage({ a: [] }, { device: "cpu" });
    for (let i = 0; i < 3; i++) accepted(await submit(free, free.job(hold)));
    const one = await stage({ a: [], b: [] }, { device: "cpu", jobsPerHost: 1 });
    const hosts = [await submit(one, one.job(hold)), await submit(one, one.job(hold))].map(accepted);
    expect(hosts.map((ref) => (ref.kind === "ssh" ? ref.host : ""))).toEqual(["a", "b"]);
    expect(await submit(one, one.job(hold))).toMatchObject({ outcome: "rejected", retry: "no_capacity" });
  });

  it("auto takes GPUs where there are some, and none where there are none", async () => {
    const bench = await stage({ a: [], b: [`${ONE}, 0`] }, { device: "auto", jobsPerHost: 1 });
    const [onCpu, onGpu] = [await submit(bench, bench.job(hold)), await submit(bench, bench.job(hold))].map(
      accepted,
    );
    if (onCpu === undefined || onGpu === undefined) throw new Error("no job");
    for (const ref of [onCpu, onGpu]) await logHolds(ref, "}");
    expect(JSON.parse((await fileOf(onCpu, "log")).trim())).not.toHaveProperty("CUDA_VISIBLE_DEVICES");
    expect(JSON.parse((await fileOf(onGpu, "log")).trim())).toMatchObject({ CUDA_VISIBLE_DEVICES: ONE });
  });

  it("cannot be used by a start that comes after find has said none", async () => {
    const bench = await stage({ a: [`${ONE}, 3`] });
    const [host] = bench.machines;
    if (host === undefined) throw new Error("no machine");
    const scripts = await readHostScripts(bench.payload);
    const plan = planned(bench, bench.job(hold));
    const job = `${plan.attempt.marker}.${plan.attempt.token}`;
    const { PATH, HOME } = process.env;
    const far = localTransport({ clock: systemClock, environment: { PATH, HOME, ...host.environment } });
    const ask = async (script: string, args: readonly string[]): Promise<string> => {
      const outcome = await far.exec(["/bin/sh", "-s", "--", ...args], { stdin: script });
      if (outcome.kind !== "exited") throw new Error(JSON.stringify(outcome));
      return outcome.stdout.toString();
    };
    // Everything a submission does up to the start, which is still on its way when its controller dies.
    expect(await ask(scripts.lock, ["reserve", job, "n1", "cuda", "1", "1024", "0"])).toBe(
      `gpus ${ONE}\nend\n`,
    );
    for (const { path, text } of plan.files) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, text);
    }
    const run = join(plan.cwd, "../..");
    const late = [plan.cwd, run, job, "n1", "20", "--", ...plan.argv];
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(await ask(scripts.start, late)).toBe("gone its reservation was taken back\nend\n");
    expect(existsSync(join(run, "claims"))).toBe(false);
    accepted(await bench.launcher.submit(plan));
    expect(readdirSync(join(run, "claims"))).toEqual([plan.attempt.marker]);
  });
});
