import { describe, expect, it } from "vitest";
import { droppedNames } from "../../../src/launch/slurm/command.ts";
import { readFacts } from "../../../src/launch/slurm/facts.ts";
import { readEvidence } from "../../../src/launch/slurm/far-evidence.ts";
import { linkOf, mayRun, ownership } from "../../../src/launch/slurm/identity.ts";
import { hasNoAccounts, readSacct, sacctArgv } from "../../../src/launch/slurm/sacct.ts";
import { readSqueue } from "../../../src/launch/slurm/squeue.ts";
import { readSubmission } from "../../../src/launch/slurm/submission.ts";
import type { ExecOutcome } from "../../../src/launch/transport/transport.ts";
import { sample } from "./samples.ts";

const said = (stdout: string, stderr = "", code = 0): ExecOutcome => ({
  kind: "exited",
  code,
  stdout: Buffer.from(stdout),
  stderr,
});

describe("rows of squeue", () => {
  const line = `42|RUNNING|n1|1001|1796163896|1796163897|N/A|None|us-r-a1|{"marker":"us-r-a1","link":2,"links":3,"run":"r"}`;

  it("are read with what is free text at the end", () => {
    const looked = readSqueue(
      said(`CLUSTER: gpu2\n${line}\n43_[1-4%2]|PENDING||1001|1796163896|N/A|N/A|Priority|a|b|c|d\n`),
    );
    if (!looked.worked) throw new Error(looked.why);
    expect(looked.whole).toBe(true);
    expect(looked.rows).toHaveLength(2);
    expect(looked.rows[0]).toMatchObject({
      id: "42",
      nodes: "n1",
      submit: 1_796_163_896,
      end: null,
      name: "us-r-a1",
    });
    expect(linkOf(looked.rows[0]?.comment ?? "")).toMatchObject({ marker: "us-r-a1", link: 2 });
    expect(looked.rows[1]).toMatchObject({ id: "43", name: "a", comment: "b|c|d" });
  });

  it("that cannot be read make the answer incomplete, not wrong", () => {
    expect(readSqueue(said(`${line}\nhello\n`))).toMatchObject({ worked: true, whole: false });
  });

  it.each<[string, ExecOutcome]>([
    ["an error with exit code 0", said("", "slurm_load_jobs error: Socket timed out on send/recv operation")],
    ["an error with a heading", said("CLUSTER: gpu2\n", "squeue: error: Invalid user: x")],
    [
      "exit code 1",
      said("", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
    ],
    ["no answer in time", said("", "", 124)],
    ["a signal", { kind: "signalled", signal: "SIGKILL", stdout: Buffer.alloc(0), stderr: "" }],
    [
      "a lost connection",
      {
        kind: "transport-error",
        started: "unknown",
        code: "CONNECTION_LOST",
        reason: "the connection was lost",
      },
    ],
  ])("do not count after %s", (_what, outcome) => {
    expect(readSqueue(outcome)).toMatchObject({ worked: false });
  });
});

describe("rows of sacct", () => {
  it("of another user's job that once had this id are refused, young ones wait", () => {
    const text = [
      "4242|COMPLETED|0:0|900|1500000000|1500000001|1500000002|n7|simulate",
      "4242|RUNNING|0:0|1001|1796163896|1796163897|Unknown|n1|us-r-a1",
      "4243|PENDING|0:0|0|1796163896|Unknown|Unknown|None assigned|allocation",
      "4244|RUNNING|0:0|1001|1796163896|1796163897|Unknown|n1|us-r-a12",
    ].join("\n");
    const looked = readSacct(said(text));
    if (!looked.worked) throw new Error(looked.why);
    const submittedAt = 1_796_163_890_000;
    expect(looked.rows.map((row) => ownership(row, "us-r-a1", submittedAt))).toEqual([
      "foreign",
      "ours",
      "young",
      "foreign",
    ]);
    // A job that was submitted nine days ago and still runs is ours.
    expect(looked.rows.map((row) => ownership(row, "us-r-a3", submittedAt - 9 * 86_400_000))[1]).toBe("ours");
  });

  it("are asked for once for many jobs, in a window without time zone", () => {
    const argv = sacctArgv({ cluster: ["-M", "gpu2"], sinceSeconds: 900.2, ids: ["1", "2"] });
    expect(argv.slice(0, 8)).toEqual(["sacct", "-M", "gpu2", "-X", "-P", "-n", "-D", "-S"]);
    expect(argv).toContain("now-901seconds");
    expect(argv[argv.indexOf("-j") + 1]).toBe("1,2");
    const many = sacctArgv({ cluster: [], sinceSeconds: 900, ids: Array.from({ length: 9000 }, String) });
    expect(many).not.toContain("-j");
  });

  it("tell for good that there are no accounts", () => {
    const [, text = ""] = sample("accounting-disabled.txt").split("\n");
    expect(hasNoAccounts(said("", text, 1))).toBe(true);
    expect(
      hasNoAccounts(said("", "sacct: error: Problem talking to the database: Connection refused", 1)),
    ).toBe(false);
  });
});

describe("the name of a job", () => {
  it.each([
    ["us-r-a1", "us-r-a1", true],
    ["us-r-a1", "us-r-a4", true],
    ["us-r-a5", "us-r-a4", false],
    ["us-r-a1", "us-rr-a1", false],
    ["allocation", "us-r-a1", false],
    ["us-r", "us-r-a1", false],
  ])("%s may run %s: %s", (name, marker, may) => {
    expect(mayRun(name, marker)).toBe(may);
  });
});

describe("what a cluster says about itself", () => {
  it("is read from its configuration", () => {
    const lines = [
      "AccountingStorageType   = accounting_storage/slurmdbd",
      "MinJobAge               = 300 sec",
      "PreemptMode             = GANG,SUSPEND",
    ];
    expect(readFacts("1001", "slurm-wlm 22.05.8", lines)).toMatchObject({
      version: "22.05.8",
      uid: 1001,
      accounts: true,
      preemptionRequeues: false,
      minJobAge: 300,
    });
    expect(readFacts("1001", "slurm 24.11.1", ["AccountingStorageType   = (null)"])?.accounts).toBe(false);
    expect(readFacts("1001", "slurm 24.11.1", [])).toBeUndefined();
    expect(readFacts("Welcome!", "", lines)).toBeUndefined();
  });
});

describe("variables of an outer job", () => {
  it("are dropped, but for those that say which cluster is meant", () => {
    const environment = {
      SLURM_CPU_BIND: "quiet",
      SBATCH_ACCOUNT: "x",
      SQUEUE_FORMAT: "%i",
      SLURM_CONF: "/etc/slurm.conf",
      SLURM_CLUSTERS: "gpu2",
      SLURM_UNSET: undefined,
      PATH: "/bin",
      MY_SLURM_JOB: "1",
    };
    expect(droppedNames(environment)).toEqual(["SBATCH_ACCOUNT", "SLURM_CPU_BIND", "SQUEUE_FORMAT"]);
  });
});

describe("what lies on the far disk", () => {
  it("is read whatever is in the files", () => {
    const evidence = readEvidence(
      "N1796163896\nR/runs/a\nL\nSsecrets\nFSTOP\n+cancel\nCus-a-a1.link-1 17\nCus-a-a1 \nA1\nFattempts/1/result.json\n+{\n+R/not/a/run\nR/runs/b\nUls: cannot open \nUand more\n",
    );
    if (!evidence.worked) throw new Error(evidence.why);
    expect([...evidence.runs.keys()]).toEqual(["/runs/a", "/runs/b"]);
    const run = evidence.runs.get("/runs/a");
    expect(run).toMatchObject({ unread: null, isLocal: true, secrets: ["secrets"] });
    const other = evidence.runs.get("/runs/b");
    expect(other).toMatchObject({ unread: "ls: cannot open", isLocal: false, secrets: [] });
    expect(run?.files.get("attempts/1/result.json")).toBe("{\nR/not/a/run\n");
    expect(run?.claims).toEqual(
      new Map([
        ["us-a-a1.link-1", "17"],
        ["us-a-a1", ""],
      ]),
    );
    expect(readEvidence("sh: command not found").worked).toBe(false);
  });

  it("of a submission says what sbatch had answered", () => {
    const looked = readSubmission(
      "now 1796163999\nattempt 1\nattempt 2\nbegun 2\nclaim 1 17\nat\n+1796163896\nlink 1 40\ncode\n+0\nout\n+17;gpu2\nerr\nlink 2 4\nout\nerr\n+sbatch: error: x y\n+and more\ndiffers /runs/a b/job.sh\nend\n",
    );
    if (!looked.worked) throw new Error(looked.why);
    expect(looked.record).toEqual({
      now: 1_796_163_999,
      begun: new Set([2]),
      begunAt: 1_796_163_896_000,
      newest: 2,
      claims: new Map([[1, "17"]]),
      links: new Map([
        [1, { age: 40, code: 0, stdout: "17;gpu2", stderr: "" }],
        [2, { age: 4, code: null, stdout: "", stderr: "sbatch: error: x y\nand more" }],
      ]),
      differing: ["/runs/a b/job.sh"],
    });
    expect(readSubmission("attempt 1\n").worked).toBe(false);
  });
});
