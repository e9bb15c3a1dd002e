import { describe, expect, it } from "vitest";
import { diskChecks, sizeText } from "../../../src/launch/far/disk-checks.ts";
import { parseFacts, type FarFacts } from "../../../src/launch/far/facts.ts";
import type { InputsFound } from "../../../src/launch/far/inputs.ts";
import { diskNeeds } from "../../../src/launch/far/needs.ts";
import type { Check, JobInput } from "../../../src/launch/index.ts";
import { farJob, sshProfile } from "./support.ts";

const DF = "server:/export/lab 1953125000 1562500000 390625000 80% /far";
const DFI = "server:/export/lab 1000000 999000 1000 99% /far";
const folder = (name: string, changes: { writable?: string; df?: string; dfi?: string } = {}): string =>
  ["folder", changes.writable ?? "yes", "/far", name, changes.df ?? DF, changes.dfi ?? DFI].join("\t");

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

describe("what a far machine says", () => {
  it("is read line by line, and what is not understood is left out", () => {
    const found = facts(
      "machine x86_64",
      "libc glibc 2.28",
      "limit open files: 1024",
      "python 3.11.7 /opt/my python/bin/python3",
      "venv yes",
      "groups alice lab",
      "logind KillUserProcesses=yes",
      "logind Linger=no",
      "wheels 12",
      "something new",
      folder("/far/runs"),
      "quota server:/export/lab  850000* 800000 900000 6days 20 0 0 0",
      "quota Filesystem  blocks   quota   limit   grace   files   quota   limit   grace",
      "lfs-quota /far [1000] 0 2000 - 5 10 0 -",
      "time 1790000000",
    );
    expect(found).toMatchObject({
      host: "gpu1",
      glibc: "2.28",
      openFiles: 1024,
      python: { version: "3.11.7", path: "/opt/my python/bin/python3", venv: true },
      groups: ["alice", "lab"],
      logind: { KillUserProcesses: "yes", Linger: "no" },
      wheels: 12,
      time: 1_790_000_000,
      folders: [
        {
          folder: "/far/runs",
          device: "server:/export/lab",
          mount: "/far",
          freeBytes: 4e11,
          freeInodes: 1000,
        },
      ],
    });
    expect(found.quotas).toEqual([
      {
        filesystem: "server:/export/lab",
        usedBytes: 850000 * 1024,
        limitBytes: 800000 * 1024,
        usedFiles: 20,
        limitFiles: null,
      },
      { filesystem: "/far", usedBytes: 1024000, limitBytes: 2048000, usedFiles: 5, limitFiles: 10 },
    ]);
    expect(parseFacts("")).toMatchObject({ host: "", python: null, folders: [], time: null, engine: null });
  });

  it("knows a filesystem without a fixed number of files, and a mount with a blank in its name", () => {
    const [found] = facts(
      folder("/x", { df: "/dev/sdb 100 50 50 50% /mnt/my disk", dfi: "/dev/sdb 0 0 0 - /mnt/my disk" }),
    ).folders;
    expect(found).toMatchObject({ mount: "/mnt/my disk", freeBytes: 51_200, freeInodes: null });
  });
});

describe("space on a far machine", () => {
  const job = farJob({
    diskBytes: 1.27e12,
    manifest: { training: { steps: 5000, saveEverySteps: 500 } },
    inputs: [input({ role: "model", source: "/here/m", bytes: 2.24e10, path: "/far/models/m" })],
    environment: { folder: "/far/env/x", python: "python3", locks: [], wheelhouse: null, device: "cuda" },
  });
  const needs = diskNeeds(job, sshProfile(), {
    inputs: { ...NOTHING, missing: job.inputs },
    environment: false,
  });
  const all = ["/far/runs", "/far/models", "/far/data", "/far/env"];

  it("is refused with the sum and what there is", () => {
    const checks = diskChecks(facts(...all.map((name) => folder(name))), needs);
    expect(checks).toEqual([
      {
        name: "disk /far",
        outcome: "failed",
        detail:
          "needs 1.3 TB = 10 checkpoints × 127.0 GB + 22.4 GB for 1 file of the model + about 12.0 GB for the Python environment, has 400.0 GB free",
        hint: expect.stringContaining("keep fewer checkpoints"),
      },
      {
        name: "files /far",
        outcome: "failed",
        detail: "needs 45,601 files = 600 files + 1 files + 45,000 files, has room for 1,000 files",
        hint: expect.stringContaining("small files"),
      },
    ]);
  });

  it("counts each filesystem by itself, and a quota before the disk behind it", () => {
    const other = {
      df: "/dev/nvme0 9000000000 0 9000000000 0% /fast",
      dfi: "/dev/nvme0 100000000 0 100000000 0% /fast",
    };
    const lines = [
      folder("/far/runs", other),
      folder("/far/models"),
      folder("/far/env"),
      folder("/far/data"),
    ];
    const quota = "quota /dev/nvme0 1000 0 1000000 0 1 0 0 0";
    expect(named(diskChecks(facts(...lines, quota), needs))).toEqual([
      "disk /fast: ok",
      "files /fast: ok",
      "quota /dev/nvme0: failed",
      "disk /far: ok",
      "files /far: failed",
    ]);
  });

  it("leaves out what is there already, and says where nothing can be written", () => {
    const there = diskNeeds(job, sshProfile(), {
      inputs: { ...NOTHING, trusted: job.inputs },
      environment: true,
    });
    expect(there.map(({ folder: where }) => where)).toEqual(["/far/runs"]);
    const [check] = diskChecks(facts(folder("/far/runs", { writable: "no" })), []);
    expect(check).toMatchObject({
      name: "folders",
      outcome: "failed",
      detail: "/far cannot be written, and /far/runs is not there",
    });
  });

  it("says once what keeps several folders from being made", () => {
    const lines = ["data", "models", "runs"].map((name) => folder(`/far/${name}`, { writable: "no" }));
    const elsewhere = ["folder", "no", "/fast", "/fast", DF, DFI].join("\t");
    const failed = diskChecks(facts(...lines, elsewhere, folder("/far/env")), []).filter(
      ({ outcome }) => outcome === "failed",
    );
    expect(failed).toHaveLength(1);
    expect(failed[0]?.detail).toBe(
      "/far cannot be written, and /far/data, /far/models and /far/runs are not there; /fast cannot be written",
    );
  });

  it.each([
    [999, "999 bytes"],
    [1.9e12, "1.9 TB"],
    [127e9, "127.0 GB"],
    [0, "0 bytes"],
  ])("writes %d as %s", (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });
});
