import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jobKey, type Job, type Observation } from "../../../src/launch/index.ts";
import { sweepSecrets } from "../../../src/launch/slurm/secrets.ts";
import type { ExecOutcome } from "../../../src/launch/transport/transport.ts";
import { commandsBench, type CommandsBench, type CommandsSettings } from "./commands-bench.ts";
import type { SlurmRef } from "./slurm-bench.ts";

const CONFIG = `printf 'AccountingStorageType = accounting_storage/none\\nMinJobAge = 300 sec\\n'`;
const SETTINGS = {
  profile: { pollSeconds: 1, stage: { model: "node-download", data: "upload" } },
  environment: { HF_TOKEN: "hf_planted4711", PLANTED: "own_planted4711" },
  programs: { sbatch: "echo 4711", scontrol: CONFIG, squeue: `cat "$HOME/queue" 2>/dev/null` },
} as const satisfies CommandsSettings;

interface Submitted {
  readonly job: Job;
  readonly ref: SlurmRef;
  readonly hub: string;
  readonly own: string;
  /** The scheduler shows the job in this state; an ended one since a minute. */
  readonly show: (state: string, reason?: string) => void;
  readonly observe: () => Promise<Observation>;
}

const submitted = async (bench: CommandsBench): Promise<Submitted> => {
  const job = bench.job({ secrets: ["PLANTED"] });
  const answer = await bench.launcher.submit(bench.plan(job));
  const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
  if (ref?.kind !== "slurm") throw new Error(JSON.stringify(answer));
  const at = Math.floor(Date.now() / 1000);
  const [hub, own] = [join(job.runFolder, "secrets"), join(ref.folder, "secrets")];
  expect([existsSync(join(hub, "HF_TOKEN")), existsSync(join(own, "PLANTED"))]).toEqual([true, true]);
  return {
    job,
    ref,
    hub,
    own,
    show: (state, reason = "None") =>
      writeFileSync(
        join(bench.folder, "queue"),
        `4711|${state}|n1|0|${at}|${at}|${at - 60}|${reason}|${ref.marker}|\n`,
      ),
    observe: async () => {
      // The shared poll is a second old by then.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const seen = (await bench.launcher.observe([ref])).get(jobKey(ref));
      if (seen === undefined) throw new Error("not in the answer");
      return seen;
    },
  };
};

describe("secrets that no job has read are removed", () => {
  it.each([
    ["CANCELLED", "cancelled"],
    ["NODE_FAIL", "node_fail"],
    ["FAILED", "not_started"],
    ["TIMEOUT", "not_started"],
    ["DEADLINE", "not_started"],
  ])("when their job ends as %s, and not before", async (state, cause) => {
    const bench = await commandsBench(SETTINGS);
    const { hub, own, show, observe } = await submitted(bench);
    show("PENDING", "DependencyNeverSatisfied");
    expect(await observe()).toMatchObject({
      phase: "live",
      warning: expect.stringContaining("never starts"),
    });
    expect([existsSync(hub), existsSync(own)]).toEqual([true, true]);
    show(state);
    expect(await observe()).toMatchObject({ phase: "ended", cause });
    expect([existsSync(hub), existsSync(own)]).toEqual([false, false]);
    await bench.launcher.close();
  });

  it("not while nothing is known of the job", async () => {
    const bench = await commandsBench(SETTINGS);
    writeFileSync(join(bench.folder, "queue"), "");
    const { hub, observe } = await submitted(bench);
    expect(await observe()).toMatchObject({ phase: "absent" });
    expect(existsSync(hub)).toBe(true);
    await bench.launcher.close();
  });

  it("but not those of a later submission", async () => {
    const bench = await commandsBench(SETTINGS);
    const { job, hub, own, show, observe } = await submitted(bench);
    show("CANCELLED");
    // As a submission of attempt 2 leaves it that has not come to its first sbatch.
    const next = join(job.runFolder, "attempts/2/secrets");
    mkdirSync(next, { recursive: true });
    const later = new Date(Date.now() + 5000);
    for (const folder of [hub, next]) utimesSync(folder, later, later);
    expect(await observe()).toMatchObject({ phase: "ended" });
    expect([existsSync(hub), existsSync(next), existsSync(own)]).toEqual([true, true, false]);
    await bench.launcher.close();
  });

  it.each([
    ["of the same attempt", "t.another", "attempts/1/secrets/PLANTED"],
    ["of the next attempt", "t2.another", "secrets/HF_TOKEN"],
  ])("but not those that another submission %s has stored meanwhile", async (_, tag, kept) => {
    const file = `"$HOME"/runs/run-1/${kept}`;
    const stored = `printf %s ${tag} >"$(dirname ${file})/UNDERSTUDY_SUBMISSION"; printf theirs >${file}`;
    const sbatch = `${stored}; echo 'sbatch: error: Invalid account or account/partition combination specified' >&2; exit 1`;
    const bench = await commandsBench({ ...SETTINGS, programs: { ...SETTINGS.programs, sbatch } });
    const job = bench.job({ secrets: ["PLANTED"] });
    expect(await bench.launcher.submit(bench.plan(job))).toMatchObject({ outcome: "rejected" });
    const left = ["attempts/1/secrets/PLANTED", "secrets/HF_TOKEN"].filter((name) =>
      existsSync(join(job.runFolder, name)),
    );
    expect(left).toEqual([kept]);
    expect(readFileSync(join(job.runFolder, kept), "utf8")).toBe("theirs");
    await bench.launcher.close();
  });

  it("when they cannot be, the end says so", async () => {
    const bench = await commandsBench(SETTINGS);
    const { own, show, observe } = await submitted(bench);
    show("CANCELLED");
    writeFileSync(
      join(bench.folder, "bin/rm"),
      `#!/bin/sh\nif [ -e ${bench.folder}/stuck ]; then echo 'rm: Device or resource busy' >&2; exit 1; fi\nexec /bin/rm "$@"\n`,
      { mode: 0o755 },
    );
    writeFileSync(join(bench.folder, "stuck"), "");
    expect(await observe()).toMatchObject({
      phase: "ended",
      detail: expect.stringContaining(`remove ${own}, `),
    });
    expect(readFileSync(join(own, "PLANTED"), "utf8")).toContain("planted");
    await bench.launcher.close();
  });

  it("when a controller was killed before its first sbatch, and nobody sends it again", async () => {
    const bench = await commandsBench({ ...SETTINGS, programs: { ...SETTINGS.programs, sbatch: "exit 99" } });
    writeFileSync(join(bench.folder, "queue"), "");
    const job = bench.job({ secrets: ["PLANTED"] });
    const plan = bench.plan(job);
    for (const folder of [join(job.runFolder, "secrets"), join(plan.cwd, "secrets")]) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "TOKEN"), "planted");
    }
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(existsSync(join(job.runFolder, "secrets"))).toBe(false);
    expect(existsSync(join(plan.cwd, "secrets"))).toBe(false);
    // As a later attempt of another controller has stored it.
    const theirs = join(job.runFolder, "secrets");
    mkdirSync(theirs);
    writeFileSync(join(theirs, "UNDERSTUDY_SUBMISSION"), "t2.another");
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(existsSync(theirs)).toBe(true);
    await bench.launcher.close();
  });

  it("or the end is not told yet, while nobody can be reached for it", async () => {
    const ref: SlurmRef = {
      kind: "slurm",
      marker: "us-r-a1",
      folder: "/runs/r/attempts/1",
      cluster: null,
      jobs: [{ id: "1", link: 1 }],
      submittedAt: 0,
    };
    const run = { files: new Map(), attempts: [1], claims: new Map(), unread: null, isLocal: true };
    const runs = new Map([["/runs/r", { ...run, secrets: ["secrets"] }]]);
    const over: Observation = { phase: "ended", result: null, detail: "over" };
    const exec = async (): Promise<ExecOutcome> => ({
      kind: "transport-error",
      started: "unknown",
      code: "CONNECTION_LOST",
      reason: "cut",
    });
    const transport = { name: "cut", exec, close: async () => undefined };
    const said = await sweepSecrets([[ref, over]], runs, { transport, deadlineSeconds: 1 });
    expect(said.get(jobKey(ref))).toMatchObject({
      phase: "unavailable",
      detail: expect.stringContaining("cut"),
    });
    const continues = { refs: [ref], token: "t" };
    const goesOn: Observation = { ...over, continues };
    expect(await sweepSecrets([[ref, goesOn]], runs, { transport, deadlineSeconds: 1 })).toEqual(new Map());
  });
});
