import { describe, expect, it } from "vitest";
import type { Observation } from "../../../src/launch/schema.ts";
import { judge } from "../../../src/launch/slurm/judge.ts";
import { accounted, begun, NOW, queued, result, sceneOf, US, type Told } from "./scenes.ts";

const LOG = {
  "attempts/1/link-1.txt":
    "link 1 of 1: attempt 1 on n1\nloading\n\u001b\nLmod has detected an error\r\nunderstudy: a setup line of the profile failed with code 1\n",
};

const TABLE: readonly [what: string, told: Told, seen: Partial<Observation> | "accounts"][] = [
  ["waits in the queue", { queue: { 1: queued("PENDING") } }, { phase: "live", state: "queued" }],
  ["is being set up", { queue: { 1: queued("CONFIGURING") } }, { phase: "live", state: "starting" }],
  [
    "is on its node, its program is not",
    { queue: { 1: queued("RUNNING") } },
    { phase: "live", state: "starting" },
  ],
  ["runs", { queue: { 1: queued("RUNNING") }, files: begun() }, { phase: "live", state: "running" }],
  ["is ending", { queue: { 1: queued("COMPLETING") }, files: begun() }, { phase: "live", state: "stopping" }],
  [
    "has a result, and the scheduler has not noticed",
    { queue: { 1: queued("RUNNING") }, files: result(0) },
    { phase: "live", state: "stopping" },
  ],
  [
    "is in a state of next year's version",
    { queue: { 1: queued("FUTURE_STATE") }, files: begun() },
    { phase: "live", detail: "job 11: FUTURE_STATE on n1" },
  ],
  [
    "ended well",
    { queue: { 1: queued("COMPLETED") }, files: result(0) },
    { phase: "ended", cause: "completed" },
  ],
  [
    "COMPLETED while the trainer failed",
    { queue: { 1: queued("COMPLETED") }, files: result(1) },
    { phase: "ended", cause: "failed" },
  ],
  [
    "COMPLETED without a result, just now: it may be on its way",
    { queue: { 1: queued("COMPLETED", { end: NOW - 2 }) }, files: begun() },
    { phase: "live", state: "stopping" },
  ],
  [
    "COMPLETED without a result",
    { queue: { 1: queued("COMPLETED") }, files: begun() },
    { phase: "ended", result: null, cause: "completed" },
  ],
  [
    "was killed by its node",
    { queue: { 1: queued("NODE_FAIL") }, files: begun() },
    { phase: "ended", cause: "node_fail" },
  ],
  [
    "ran out of memory",
    { queue: { 1: queued("OUT_OF_MEMORY") }, files: begun() },
    { phase: "ended", cause: "out_of_memory" },
  ],
  [
    "hit its limit",
    { queue: { 1: queued("TIMEOUT") }, files: result(143) },
    { phase: "ended", cause: "walltime" },
  ],
  [
    "saved before its limit",
    { queue: { 1: queued("FAILED") }, files: { ...result(3), "attempts/1/STOP": "signal USR1\n" } },
    { phase: "ended", cause: "walltime" },
  ],
  [
    "saved because it was asked to",
    {
      queue: { 1: queued("FAILED") },
      files: { ...result(3), "attempts/1/STOP": "signal USR1\n", STOP: "cancel\n" },
    },
    {
      phase: "ended",
      cause: "cancelled",
      detail: "job 11 on n1: the program stopped cleanly (exit 3, which Slurm calls FAILED)",
    },
  ],
  [
    "was fenced by its token",
    { queue: { 1: queued("FAILED") }, files: result(75) },
    { phase: "ended", cause: "fenced" },
  ],
  ["was cancelled: by whom?", { queue: { 1: queued("CANCELLED") }, files: begun() }, "accounts"],
  [
    "was cancelled by us",
    { queue: { 1: queued("CANCELLED") }, files: begun(), accounts: { 1: [accounted(`CANCELLED by ${US}`)] } },
    { phase: "ended", cause: "cancelled" },
  ],
  [
    "was cancelled by another user",
    { queue: { 1: queued("CANCELLED") }, files: begun(), accounts: { 1: [accounted("CANCELLED by 0")] } },
    { phase: "ended", cause: "cancelled_by_other" },
  ],
  [
    "was cancelled by root after we had asked",
    {
      queue: { 1: queued("CANCELLED") },
      files: { ...begun(), STOP: "cancel\n" },
      accounts: { 1: [accounted("CANCELLED by 0")] },
    },
    { phase: "ended", cause: "cancelled" },
  ],
  [
    "was cancelled, and the accounts do not know yet",
    {
      queue: { 1: queued("CANCELLED") },
      files: begun(),
      accounts: { 1: [accounted("RUNNING", { end: null })] },
    },
    { phase: "unavailable" },
  ],
  [
    "was cancelled, and slurmdbd is down",
    { queue: { 1: queued("CANCELLED") }, files: begun(), accounts: "failed" },
    { phase: "unavailable" },
  ],
  ["has left the queue", { files: result(0) }, "accounts"],
  [
    "has left the queue, says accounting too",
    { files: result(0), accounts: { 1: [accounted("COMPLETED")] } },
    { phase: "ended", cause: "completed" },
  ],
  [
    "has left the queue, which accounting denies",
    { files: begun(), accounts: { 1: [accounted("RUNNING", { end: null })] } },
    { phase: "unavailable" },
  ],
  [
    "has left the queue, and its accounts are young",
    { files: begun(), young: true, accounts: {} },
    { phase: "unavailable" },
  ],
  ["is nowhere, and had begun", { files: begun(), accounts: {} }, { phase: "absent" }],
  ["is nowhere at all", { accounts: {} }, { phase: "absent" }],
  [
    "is not in a queue that could not be read whole",
    { accounts: {}, whole: false },
    { phase: "unavailable" },
  ],
  [
    "keeps no accounts: its own files tell",
    { files: result(0), accounts: "none" },
    { phase: "ended", cause: "completed" },
  ],
  ["keeps no accounts, and left nothing", { accounts: "none" }, { phase: "absent" }],
  [
    "was preempted for good (PreemptMode=CANCEL)",
    { queue: { 1: queued("PREEMPTED") }, files: begun() },
    { phase: "ended", cause: "preempted" },
  ],
  [
    "was preempted and may come back",
    { files: begun(), accounts: { 1: [accounted("PREEMPTED", { end: NOW - 100 })] } },
    { phase: "unavailable" },
  ],
  [
    "was preempted and has not come back in five minutes",
    { files: begun(), accounts: { 1: [accounted("PREEMPTED", { end: NOW - 400 })] } },
    { phase: "ended", cause: "preempted" },
  ],
  ["was cancelled while it waited: by whom?", { queue: { 1: queued("CANCELLED") } }, "accounts"],
  [
    "was cancelled while it waited",
    { queue: { 1: queued("CANCELLED") }, accounts: { 1: [accounted(`CANCELLED by ${US}`)] } },
    { phase: "ended", result: null, cause: "cancelled" },
  ],
  [
    "has no folder for its output",
    { accounts: { 1: [accounted("FAILED", { exit: "0:53" })] } },
    { phase: "ended", cause: "not_started", detail: expect.stringContaining("output") },
  ],
  [
    "failed in its setup lines: its own log says so, and on which machine",
    { queue: { 1: queued("FAILED") }, files: LOG },
    {
      phase: "ended",
      cause: "not_started",
      node: "n1",
      detail:
        "job 11: FAILED on n1; it had not begun the program, and /runs/r/attempts/1/link-1.txt ends: loading | " +
        "Lmod has detected an error | understudy: a setup line of the profile failed with code 1",
    },
  ],
  [
    "could not write what it had begun",
    { queue: { 1: queued("FAILED") }, files: LOG, claims: { "us-r-a1": "11" } },
    {
      phase: "ended",
      result: null,
      detail: expect.stringContaining("no result; /runs/r/attempts/1/link-1.txt ends: loading | Lmod has"),
    },
  ],
  [
    "was unfit, on the machine that Slurm means",
    { queue: { 1: queued("FAILED", { nodes: "n1" }) }, files: result(69, { host: "gpu-7" }) },
    { phase: "ended", cause: "failed", node: "gpu-7" },
  ],
  [
    "was killed with its machine",
    { queue: { 1: queued("NODE_FAIL", { nodes: "n[1-2]" }) }, files: begun() },
    { phase: "ended", cause: "node_fail", node: "n1" },
  ],
  [
    "had not begun while an earlier submission had",
    { number: 2, queue: { 1: queued("FAILED") }, claims: { "us-r-a1.link-1": "99", "us-r-a1": "99" } },
    { phase: "ended", cause: "not_started" },
  ],
  [
    "lost its claim to another job",
    { queue: { 1: queued("FAILED") }, claims: { "us-r-a1.link-1": "99" } },
    { phase: "ended", cause: "fenced" },
  ],
];

describe("what is said of a job that", () => {
  it.each(TABLE)("%s", (_what, told, seen) => {
    const judged = judge(sceneOf(told));
    if (seen === "accounts") expect(judged).toBe("accounts");
    else expect(judged).toMatchObject(seen);
  });
});
