import { describe, expect, it } from "vitest";
import { parseFacts, type FarFacts } from "../../../src/launch/far/facts.ts";
import { inputChecks } from "../../../src/launch/far/input-checks.ts";
import type { InputsFound } from "../../../src/launch/far/inputs.ts";
import { machineChecks } from "../../../src/launch/far/machine-checks.ts";
import { purgeCheck } from "../../../src/launch/far/purge-check.ts";
import type { Check, JobInput } from "../../../src/launch/index.ts";
import { slurmProfile, sshProfile } from "./support.ts";

const facts = (...lines: readonly string[]): FarFacts =>
  parseFacts(`${["host gpu1", "user alice", ...lines].join("\n")}\nend\n`);
const named = (checks: readonly Check[]): readonly string[] =>
  checks.map(({ name, outcome }) => `${name}: ${outcome}`);

const input = (changes: Partial<JobInput>): JobInput => ({
  role: "data",
  path: "/far/data/a.parquet",
  source: null,
  bytes: 1e9,
  sha256: "a".repeat(64),
  ...changes,
});
const NOTHING: InputsFound = { trusted: [], unproven: [], wrongSize: [], missing: [] };

describe("data and model of a job", () => {
  const [first, second] = [input({}), input({ path: "/far/data/b.parquet" })];
  const two = [first, second];
  const check = (
    found: Partial<InputsFound>,
    inputs: readonly JobInput[] = two,
    profile = sshProfile(),
  ): Check | undefined => inputChecks({ inputs }, profile, { ...NOTHING, ...found })[0];

  it("that are purged, torn, of another size, unproven or known are five different answers", () => {
    expect(check({ missing: two })).toMatchObject({
      outcome: "failed",
      detail: "none of the 2 files is there, e.g. /far/data/a.parquet: they were purged, or never put there",
    });
    expect(check({ missing: two.slice(1), trusted: two.slice(0, 1) })).toMatchObject({
      outcome: "failed",
      detail: "1 of 2 files are not there, e.g. /far/data/b.parquet",
    });
    const wrongSize = [{ input: first, bytes: 12 }];
    expect(check({ wrongSize, trusted: two.slice(1) })?.detail).toBe(
      "/far/data/a.parquet has 12 bytes; a.parquet has 1000000000 in the lock",
    );
    expect(check({ unproven: two })?.detail).toBe(
      "2 files (2.0 GB) there, of the right size; the job first hashes 2 files (2.0 GB) once",
    );
    expect(check({ trusted: two })).toEqual({
      name: "data",
      outcome: "ok",
      detail: "2 files (2.0 GB) there, of the right size",
    });
  });

  it("that are sent or fetched need not be there", () => {
    const sent = [input({ source: "/here/a" })];
    expect(check({ missing: sent }, sent)).toMatchObject({
      outcome: "ok",
      detail: "1 file (1.0 GB) will be sent",
    });
    const model = [input({ role: "model" })];
    const profile = sshProfile({ stage: { model: "node-download" } });
    expect(check({ missing: model }, model, profile)).toMatchObject({
      name: "model",
      outcome: "ok",
      detail: "1 file (1.0 GB) will be fetched by the node from the model hub",
    });
  });
});

describe("the machine itself", () => {
  const check = (
    lines: readonly string[],
    profile = sshProfile(),
    skew: number | null = 0,
  ): readonly string[] => named(machineChecks(facts(...lines), profile, skew));
  const python = ["python 3.11.7 /usr/bin/python3", "venv yes"];

  it.each([
    { name: "a fit one", lines: python, expected: ["python: ok", "clock: ok"] },
    {
      name: "an old Python",
      lines: ["python 3.9.18 /usr/bin/python3", "venv yes"],
      expected: ["python: failed", "clock: ok"],
    },
    {
      name: "no venv",
      lines: ["python 3.11.7 /usr/bin/python3", "venv no"],
      expected: ["python: failed", "clock: ok"],
    },
    { name: "no Python", lines: ["python-error not found"], expected: ["python: failed", "clock: ok"] },
    {
      name: "no Python but an environment",
      lines: ["python-error not found", "environment {}"],
      expected: ["python: warning", "clock: ok"],
    },
    {
      name: "few open files",
      lines: [...python, "limit open files: 256"],
      expected: ["python: ok", "clock: ok", "limits: warning"],
    },
    {
      name: "a session that ends all",
      lines: [...python, "logind KillUserProcesses=yes", "logind Linger=no"],
      expected: ["python: ok", "logout: warning", "clock: ok"],
    },
    {
      name: "a session that lingers",
      lines: [...python, "logind KillUserProcesses=yes", "logind Linger=yes"],
      expected: ["python: ok", "clock: ok"],
    },
    {
      name: "a spared user",
      lines: [...python, "logind KillUserProcesses=yes", "logind KillExcludeUsers=root alice"],
      expected: ["python: ok", "clock: ok"],
    },
  ])("is $name", ({ lines, expected }) => {
    expect(check(lines)).toEqual(expected);
  });

  it("is compared with the profile's group, clock, wheelhouse and engine", () => {
    expect(check([...python, "groups alice lab"], sshProfile({ group: "lab" }))).toContain("group: ok");
    expect(check([...python, "groups alice"], sshProfile({ group: "lab" }))).toContain("group: warning");
    expect(check(python, sshProfile(), -400)).toContain("clock: warning");
    expect(check([...python, "wheels 0"], sshProfile({ wheelhouse: "/w" }))).toContain("wheelhouse: failed");
    const container = { engine: "apptainer", image: "/x.sif" };
    expect(check(["engine yes apptainer 1.3", "image yes"], sshProfile({ container }))).toEqual([
      "container: ok",
      "clock: ok",
    ]);
    expect(check(["engine no there is no apptainer", "image no"], sshProfile({ container }))).toEqual([
      "container: failed",
      "image: failed",
      "clock: ok",
    ]);
  });
});

describe("a site that purges", () => {
  const outcome = (changes: Readonly<Record<string, unknown>>): string | undefined =>
    purgeCheck(slurmProfile(changes))[0]?.outcome;

  it("is warned about when a run could live as long", () => {
    expect(outcome({})).toBeUndefined();
    expect(outcome({ purgeDays: 30, time: "12:00:00", chain: 4 })).toBe("ok");
    expect(outcome({ purgeDays: 30, time: "2-00:00:00", chain: 20 })).toBe("warning");
    expect(purgeCheck(sshProfile({ purgeDays: 30 }))[0]?.outcome).toBe("warning");
  });
});
