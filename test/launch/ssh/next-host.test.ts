import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { AttemptContext, Job } from "../../../src/launch/index.ts";
import { attemptOf, fileOf, logHolds, temporaryFolder } from "../support.ts";
import { localBench, machine, type SshBench } from "./support.ts";

const nodeName = execFileSync("uname", ["-n"], { encoding: "utf8" }).trim();

/** An `uname` that knows the machine by its own name, beside the programs of the test's machines. */
const named = (folder: string, name: string, more: Readonly<Record<string, string>> = {}): void => {
  const bin = join(folder, `machine-${name}`, "bin");
  const programs = { uname: `[ "$*" = -n ] && echo node-${name} && exit; exec /usr/bin/uname "$@"`, ...more };
  for (const [program, text] of Object.entries(programs)) {
    writeFileSync(join(bin, program), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
};

describe("which host of the list gets the job", () => {
  const folders: { remove(): void }[] = [];
  afterAll(() => {
    for (const folder of folders) folder.remove();
  });
  const stage = async (
    programs: Readonly<Record<string, Readonly<Record<string, string>>>>,
    setup: readonly string[] = [],
  ): Promise<SshBench> => {
    const folder = temporaryFolder();
    folders.push(folder);
    const machines = Object.keys(programs).map((name) => machine(folder.path, name, []));
    for (const [name, more] of Object.entries(programs)) named(folder.path, name, more);
    return localBench(folder.path, { machines, settings: { setup } });
  };
  const submit = async (
    { launcher }: SshBench,
    job: Job,
    attempt: AttemptContext = attemptOf(job),
  ): ReturnType<SshBench["launcher"]["submit"]> => launcher.submit(launcher.plan(job, attempt));

  it("is another one after the machine of the first was unfit", async () => {
    const bench = await stage({ one: {}, two: {} });
    const first = bench.job([["exit", 0]]);
    expect(await submit(bench, first)).toMatchObject({ outcome: "accepted", refs: [{ host: "one" }] });
    const job = bench.job([["exit", 0]]);
    const attempt = { ...attemptOf(job), excludedNodes: ["node-one"] };
    expect(bench.launcher.plan(job, attempt).request).toMatchObject({ excludedNodes: ["node-one"] });
    expect(await submit(bench, job, attempt)).toMatchObject({ outcome: "accepted", refs: [{ host: "two" }] });
    // Better an unfit one, which says so again, than none.
    const both = bench.job([["exit", 0]]);
    const all = { ...attemptOf(both), excludedNodes: ["node-one", "two", nodeName] };
    expect((await submit(bench, both, all)).outcome).toBe("accepted");
  });

  it("is the next one where a setup line fails", async () => {
    const setup = ["load-module cuda"];
    const bench = await stage(
      {
        one: { "load-module": "echo 'module: no such module: $1' >&2; exit 3" },
        two: { "load-module": "exit 0" },
      },
      setup,
    );
    const job = bench.job([["say", "up"]]);
    const answer = await submit(bench, job);
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    expect(ref).toMatchObject({ host: "two" });
    await logHolds(ref, "up");
    expect(await fileOf(ref, "log")).toContain("up");
    // Folders are shared here: the first host's start, which came to nothing, is not taken for the job.
    expect(await bench.launcher.find(bench.launcher.plan(job, attemptOf(job)))).toMatchObject({
      outcome: "found",
      refs: [{ host: "two" }],
    });
  });

  it("is none where it fails everywhere: refused for good, with each host's own words", async () => {
    const bench = await stage(
      {
        one: { "load-module": "echo 'no such module on one' >&2; exit 3" },
        two: { "load-module": "echo 'no such module on two' >&2; exit 4" },
      },
      ["load-module cuda"],
    );
    const job = bench.job([["say", "up"]]);
    const answer = await submit(bench, job);
    expect(answer).toMatchObject({ outcome: "rejected" });
    expect(answer).not.toHaveProperty("retry");
    const reason = answer.outcome === "rejected" ? answer.reason : "";
    expect(reason).toMatch(/on one: no such module on one .*setup line of the profile failed with code 3/);
    expect(reason).toMatch(/on two: no such module on two .*setup line of the profile failed with code 4/);
    const plan = bench.launcher.plan(job, attemptOf(job));
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(readdirSync(plan.cwd)).not.toContain("secrets");
  });

  it("waits when the others are only busy", async () => {
    const folder = temporaryFolder();
    folders.push(folder);
    const machines = [machine(folder.path, "one", []), machine(folder.path, "two", ["GPU-1, 40000"])];
    named(folder.path, "one", { "load-module": "exit 3", "nvidia-smi": "echo 'GPU-0, 0'" });
    const bench = await localBench(folder.path, {
      machines,
      settings: { device: "cuda", setup: ["load-module cuda"] },
    });
    expect(await submit(bench, bench.job([]))).toMatchObject({ outcome: "rejected", retry: "no_capacity" });
  });
});
