import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { askEvidence } from "../../../src/launch/slurm/far-evidence.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import { temporaryFolder } from "../support.ts";

const SETUP = "understudy: a setup line of the profile failed with code 1";

const runOf = (files: Readonly<Record<string, string>>): string => {
  const run = temporaryFolder().path;
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const path = join(run, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    utimesSync(path, 1000 + index, 1000 + index);
  }
  return run;
};

/** Texts of the jobs' logs that one question brings, by name. */
const logsOf = async (
  files: Readonly<Record<string, string>>,
  from = 1,
): Promise<Readonly<Record<string, string>>> => {
  const run = runOf(files);
  const transport = localTransport({ clock: systemClock, environment: process.env });
  const evidence = await askEvidence(transport, [{ run, from }], 60);
  if (!evidence.worked) throw new Error(evidence.why);
  const read = [...(evidence.runs.get(run)?.files ?? [])];
  return Object.fromEntries(read.filter(([name]) => name.includes("link-")));
};

it("a job's own log is read while nothing was begun, of several the newest, and only its end", async () => {
  const long = `${"x".repeat(100_000)}\nN1\nRnot a run\n${SETUP}`;
  const logs = await logsOf({
    "attempts/1/link-1.txt": "older\n",
    "attempts/1/link-10.txt": long,
    "attempts/1/job.sh": "",
  });
  expect(Object.keys(logs)).toEqual(["attempts/1/link-10.txt"]);
  expect(logs["attempts/1/link-10.txt"]?.endsWith(`\nN1\nRnot a run\n${SETUP}\n`)).toBe(true);
  expect(logs["attempts/1/link-10.txt"]?.length).toBeLessThan(2100);
});

it("it lies with the first attempt of the submission, not of a later one", async () => {
  const files = {
    "attempts/1/link-1.txt": "of another submission\n",
    "attempts/2/link-1.txt": "older\n",
    "attempts/2/link-2.txt": SETUP,
    "attempts/9/link-1.txt": "of a later submission\n",
  };
  expect(await logsOf(files, 3)).toEqual({ "attempts/2/link-2.txt": `${SETUP}\n` });
});

it("a program that has begun says more, but on a machine that was unfit", async () => {
  const begun = {
    "attempts/1/link-1.txt": "link 1 of 1: attempt 1 on n1\n",
    "attempts/1/supervisor.json": "{}",
  };
  expect(await logsOf(begun)).toEqual({});
  expect(await logsOf({ ...begun, "attempts/1/result.json": '{"exitCode":1,"signal":null}\n' })).toEqual({});
  expect(await logsOf({ ...begun, "attempts/1/result.json": '{"exitCode":69,"signal":null}\n' })).toEqual({
    "attempts/1/link-1.txt": "link 1 of 1: attempt 1 on n1\n",
  });
  expect(await logsOf({ "attempts/1/job.sh": "" })).toEqual({});
});
