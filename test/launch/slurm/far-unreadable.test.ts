import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { askEvidence, type RunFiles } from "../../../src/launch/slurm/far-evidence.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import type { Transport } from "../../../src/launch/transport/transport.ts";
import { jobKey } from "../../../src/launch/index.ts";
import { temporaryFolder } from "../support.ts";
import { commandsBench } from "./commands-bench.ts";

const local = localTransport({ clock: systemClock, environment: process.env });
const isRoot = process.getuid?.() === 0;
// Nobody is kept out by modes as root.
const NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] as const;
const asNobody: Transport = isRoot
  ? {
      ...local,
      exec: async ([program, ...rest], options) => local.exec([...NOBODY, program, ...rest], options),
    }
  : local;

const ask = async (run: string, transport = local): Promise<RunFiles> => {
  const evidence = await askEvidence(transport, [{ run, from: 1 }], 60);
  if (!evidence.worked) throw new Error(evidence.why);
  const files = evidence.runs.get(run);
  if (files === undefined) throw new Error(`nothing is said of ${run}`);
  return files;
};

/** A run with an attempt that has ended, in a folder that everybody may enter. */
const ranOnce = (): string => {
  const runs = temporaryFolder().path;
  chmodSync(runs, 0o755);
  const run = join(runs, "r");
  for (const [name, text] of [
    ["attempts/1/result.json", "{}"],
    ["attempts/1/supervisor.json", "{}"],
    ["claims/us-r-a1/owner", "11"],
    ["links/1-1.json", "{}"],
  ] as const) {
    mkdirSync(dirname(join(run, name)), { recursive: true });
    writeFileSync(join(run, name), `${text}\n`);
  }
  return run;
};

describe("a run's folder", () => {
  it("that can be read says all there is, and that it lies on a disk of that machine", async () => {
    const files = await ask(ranOnce(), asNobody);
    expect(files).toMatchObject({ unread: null, isLocal: true, attempts: [1] });
    expect(files.claims).toEqual(new Map([["us-r-a1", "11"]]));
    expect([...files.files.keys()].toSorted()).toEqual([
      "attempts/1/result.json",
      "attempts/1/supervisor.json",
      "links/1-1.json",
    ]);
  });

  it("that is not there is just that: nothing has run", async () => {
    expect(await ask(join(temporaryFolder().path, "none"))).toMatchObject({ unread: null, attempts: [] });
  });

  it("whose own place is not there says nothing: a disk that is not mounted", async () => {
    const { unread } = await ask(join(temporaryFolder().path, "not/mounted"));
    expect(unread).toMatch(/not.*No such file or directory/);
  });

  it("that is no folder, or one that leads nowhere, says nothing", async () => {
    const folder = temporaryFolder().path;
    writeFileSync(join(folder, "file"), "");
    expect((await ask(join(folder, "file"))).unread).toMatch(/Not a directory/);
    symlinkSync("loop", join(folder, "loop"));
    expect((await ask(join(folder, "loop"))).unread).toMatch(/Too many levels of symbolic links/);
  });

  it.each([
    ["itself may not be entered", "", 0o600, /Permission denied/],
    ["itself may not be listed", "", 0o311, /Permission denied|cannot be listed/],
    ["has claims that may not be listed", "claims", 0o311, /claims.*Permission denied/],
    ["has claims that may not be entered", "claims", 0o644, /claims.*cannot be looked at/],
    ["has links that may not be listed", "links", 0o311, /links.*Permission denied/],
    ["has attempts that may not be listed", "attempts", 0o311, /attempts.*Permission denied/],
    ["has an attempt that may not be listed", "attempts/1", 0o311, /attempts\/1.*Permission denied/],
    ["has a result that may not be read", "attempts/1/result.json", 0o200, /result.json cannot be read/],
    ["has a claim whose name may not be read", "claims/us-r-a1/owner", 0o200, /owner cannot be read/],
  ])("that %s says so, in the far machine's words", async (_what, name, mode, words) => {
    const run = ranOnce();
    // What lies at the top of a folder that cannot be listed can be found by its name.
    if (name === "") rmSync(join(run, "attempts"), { recursive: true });
    chmodSync(join(run, name), mode);
    const { unread } = await ask(run, asNobody);
    expect(unread).toMatch(words);
    chmodSync(join(run, name), 0o755);
    expect((await ask(run, asNobody)).unread).toBeNull();
  });

  it("among others that cannot be read is read all the same", async () => {
    const [good, bad] = [ranOnce(), join(temporaryFolder().path, "not/mounted")];
    const places = [bad, good, bad].map((run) => ({ run, from: 1 }));
    const evidence = await askEvidence(local, places, 60);
    if (!evidence.worked) throw new Error(evidence.why);
    expect(evidence.runs.get(good)).toMatchObject({ unread: null, attempts: [1] });
    expect(evidence.runs.get(bad)?.unread).toMatch(/No such file/);
  });
});

it("a job that failed is not called one that has not started while its folder cannot be read", async () => {
  const now = Math.floor(Date.now() / 1000);
  const row = `4711|FAILED|n1|0|${now - 99}|${now - 98}|${now - 97}|NonZeroExitCode|us-run-1-a1|`;
  const bench = await commandsBench({
    profile: { pollSeconds: 1 },
    programs: {
      sbatch: "echo 4711",
      squeue: `echo '${row}'`,
      scontrol: "echo 'AccountingStorageType = accounting_storage/none'",
    },
  });
  const job = bench.job();
  const answer = await bench.launcher.submit(bench.plan(job));
  const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
  if (ref === undefined) throw new Error(JSON.stringify(answer));
  const runs = dirname(job.runFolder);
  const observe = async (): Promise<unknown> => (await bench.launcher.observe([ref])).get(jobKey(ref));
  renameSync(runs, `${runs}.away`);
  expect(await observe()).toMatchObject({
    phase: "unavailable",
    detail: expect.stringContaining("No such file or directory"),
  });
  renameSync(`${runs}.away`, runs);
  await systemClock.sleep(1100);
  expect(await observe()).toMatchObject({ phase: "ended", cause: "not_started" });
  await bench.launcher.close();
});
