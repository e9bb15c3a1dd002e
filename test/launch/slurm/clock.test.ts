import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { jobKey, type Observation } from "../../../src/launch/index.ts";
import { commandsBench, type CommandsBench } from "./commands-bench.ts";
import type { SlurmRef } from "./slurm-bench.ts";

const CONFIG = `printf 'AccountingStorageType = accounting_storage/slurmdbd\\nMinJobAge = 300 sec\\n'`;
const seconds = (): number => Math.floor(Date.now() / 1000);

/** This machine's clock, some seconds off; it can be moved on. */
const wrongClock = (offset: number): Clock & { advance(by: number): void } => {
  let ahead = offset;
  return {
    ...systemClock,
    now: () => systemClock.now() + ahead * 1000,
    advance: (by) => {
      ahead += by;
    },
  };
};

/** Submits a job and gives its files, as if it had run until `age` seconds ago. */
const ran = async (bench: CommandsBench, age: number): Promise<SlurmRef> => {
  const plan = bench.plan(bench.job());
  const answer = await bench.launcher.submit(plan);
  const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
  if (ref?.kind !== "slurm") throw new Error(JSON.stringify(answer));
  const claim = join(plan.cwd, "../../claims", ref.marker);
  mkdirSync(claim, { recursive: true });
  writeFileSync(join(claim, "owner"), "4711\n");
  const at = new Date((seconds() - age) * 1000).toISOString();
  const result = { schemaVersion: 1, marker: ref.marker, exitCode: 0, signal: null, host: "n1" };
  writeFileSync(
    join(plan.cwd, "result.json"),
    JSON.stringify({ ...result, startedAt: at, endedAt: at, reason: "exited", detail: "" }),
  );
  return ref;
};
const observe = async (bench: CommandsBench, ref: SlurmRef): Promise<Observation | undefined> =>
  (await bench.launcher.observe([ref])).get(jobKey(ref));
/** Seconds of each window that the accounts were asked for. */
const windows = (bench: CommandsBench): readonly number[] =>
  bench
    .calls("sacct")
    .map((words) => Number(/^now-(\d+)seconds$/.exec(words[words.indexOf("-S") + 1] ?? "")?.[1]));

// A row of the accounts that the stand-in gives only when the window reaches back to its submission.
const sacct = (state: string, end: string): string => `
for word; do case $word in now-*seconds) window=\${word#now-} window=\${window%seconds} ;; esac; done
submit=$(cat "$HOME/submit")
[ "$submit" -lt $(($(date +%s) - window)) ] || echo "4711|${state}|0:0|0|$submit|$submit|${end}|n1|us-run-1-a1"
`;

describe("a clock of this machine that is wrong", () => {
  it.each([-5 * 3600, 5 * 3600, -30, 40 * 86_400])("by %i s loses no row of the accounts", async (offset) => {
    const bench = await commandsBench({
      clock: wrongClock(offset),
      profile: { pollSeconds: 1 },
      programs: { sbatch: "echo 4711", scontrol: CONFIG, sacct: sacct("COMPLETED", "$submit") },
    });
    const ref = await ran(bench, 100);
    // Submitted ten days ago, as the machine there counts.
    const age = 10 * 86_400;
    const at = seconds() - age;
    writeFileSync(join(bench.folder, "submit"), String(at));
    const old = { ...ref, submittedAt: at * 1000 };
    expect(await observe(bench, old)).toMatchObject({ phase: "ended", cause: "completed" });
    // And one that is looked for by its marker is found, however long ago it was submitted.
    writeFileSync(join(ref.folder, "submission/at"), `${at}\n`);
    writeFileSync(join(ref.folder, "submission/link-1/out"), "");
    expect(await bench.launcher.find(bench.plan({ ...bench.job(), ...jobOf(ref) }))).toMatchObject({
      outcome: "found",
      refs: [{ jobs: [{ id: "4711", link: 1 }], submittedAt: at * 1000 }],
    });
    expect(windows(bench).length).toBeGreaterThan(1);
    for (const window of windows(bench)) expect(window).toBeLessThan(age + 600);
    await bench.launcher.close();
  });

  it("that is set back does not keep an old answer for hours", async () => {
    const clock = wrongClock(0);
    const bench = await commandsBench({
      clock,
      profile: { pollSeconds: 60 },
      programs: { scontrol: CONFIG },
    });
    const ref = await refOf(bench);
    await observe(bench, ref);
    await observe(bench, ref);
    expect(bench.calls("squeue")).toHaveLength(1);
    clock.advance(-3 * 3600);
    await observe(bench, ref);
    expect(bench.calls("squeue")).toHaveLength(2);
    await bench.launcher.close();
  });
});

describe("a row of the accounts that is never closed", () => {
  const programs = { sbatch: "echo 4711", scontrol: CONFIG, sacct: sacct("RUNNING", "Unknown") };

  it("counts for five minutes in which the whole queue is without the job, then its files decide", async () => {
    const clock = wrongClock(0);
    const bench = await commandsBench({ clock, profile: { pollSeconds: 1 }, programs });
    const ref = await ran(bench, 10);
    writeFileSync(join(bench.folder, "submit"), String(seconds()));
    for (const minutes of [0, 2, 2]) {
      clock.advance(minutes * 60);
      expect(await observe(bench, ref)).toMatchObject({ phase: "unavailable" });
    }
    clock.advance(70);
    expect(await observe(bench, ref)).toMatchObject({ phase: "ended", cause: "completed" });
    await bench.launcher.close();
  });

  it("counts on while the queue does not answer whole, or lists the job", async () => {
    const clock = wrongClock(0);
    const squeue = `cat "$HOME/queue" 2>/dev/null`;
    const bench = await commandsBench({
      clock,
      profile: { pollSeconds: 1 },
      programs: { ...programs, squeue },
    });
    const ref = await ran(bench, 10);
    writeFileSync(join(bench.folder, "submit"), String(seconds()));
    writeFileSync(join(bench.folder, "queue"), "cannot be read\n");
    for (let minute = 0; minute < 8; minute++) {
      clock.advance(60);
      expect(await observe(bench, ref)).toMatchObject({ phase: "unavailable" });
    }
    const row = `4711|RUNNING|n1|0|${seconds()}|0|0|None|${ref.marker}|`;
    writeFileSync(join(bench.folder, "queue"), `${row}\n`);
    clock.advance(600);
    expect(await observe(bench, ref)).toMatchObject({ phase: "live" });
    writeFileSync(join(bench.folder, "queue"), "");
    clock.advance(60);
    expect(await observe(bench, ref)).toMatchObject({ phase: "unavailable" });
    expect(readFileSync(join(bench.folder, "queue"), "utf8")).toBe("");
    await bench.launcher.close();
  });
});

const jobOf = ({ folder }: SlurmRef): { readonly runId: string; readonly runFolder: string } => ({
  runId: "run-1",
  runFolder: join(folder, "../.."),
});

async function refOf(bench: CommandsBench): Promise<SlurmRef> {
  const plan = bench.plan(bench.job());
  mkdirSync(plan.cwd, { recursive: true });
  const jobs = [{ id: "4711", link: 1 }];
  return {
    kind: "slurm",
    marker: plan.attempt.marker,
    folder: plan.cwd,
    cluster: null,
    jobs,
    submittedAt: seconds() * 1000,
  };
}
