import { describe, expect, it } from "vitest";
import { parseJobId } from "../../../src/launch/slurm/job-id.ts";
import { parseReply } from "../../../src/launch/slurm/reply.ts";
import { readState } from "../../../src/launch/slurm/states.ts";
import { slurmMoment, slurmSeconds } from "../../../src/launch/slurm/times.ts";
import { sample, sampleNames } from "./samples.ts";

describe("a Slurm time", () => {
  it.each([
    ["1-00:00:00", 86_400],
    ["3-0:00", 259_200],
    ["2-12", 216_000],
    ["90", 5400],
    ["30:00", 1800],
    ["12:00:00", 43_200],
    ["0:05", 5],
    ["7-00:00:00", 604_800],
    ["UNLIMITED", null],
    ["INFINITE", null],
    ["x", undefined],
    ["", undefined],
    ["1:2:3:4", undefined],
    ["-5", undefined],
    ["Partition_Limit", undefined],
  ])("%s is %s seconds", (text, seconds) => {
    expect(slurmSeconds(text)).toBe(seconds);
  });

  it.each([
    ["1796163896", 1_796_163_896],
    ["Unknown", null],
    ["None", null],
    ["N/A", null],
    ["", null],
  ])("%s is the moment %s", (text, moment) => {
    expect(slurmMoment(text)).toBe(moment);
  });
});

describe("a job id", () => {
  it("of an array lists its tasks", () => {
    const id = parseJobId("123_[60-89,91-94]");
    expect(id?.base).toBe(123);
    expect(id?.tasks).toHaveLength(34);
    expect(id?.tasks?.at(0)).toBe(60);
    expect(id?.tasks?.at(-1)).toBe(94);
    expect(id?.throttle).toBeNull();
  });

  it.each([
    ["123", { base: 123, tasks: null, throttle: null, component: null, step: null }],
    ["123_[1%1]", { base: 123, tasks: [1], throttle: 1, component: null, step: null }],
    ["20_[2-4%2]", { base: 20, tasks: [2, 3, 4], throttle: 2, component: null, step: null }],
    ["123_[0-10:5]", { base: 123, tasks: [0, 5, 10], throttle: null, component: null, step: null }],
    ["123_7", { base: 123, tasks: [7], throttle: null, component: null, step: null }],
    ["123+1", { base: 123, tasks: null, throttle: null, component: 1, step: null }],
    ["123.batch", { base: 123, tasks: null, throttle: null, component: null, step: "batch" }],
    ["123_7.0", { base: 123, tasks: [7], throttle: null, component: null, step: "0" }],
  ])("%s", (text, id) => {
    expect(parseJobId(text)).toEqual(id);
  });

  it.each(["", "x", "123_[", "123_[a-b]", "12 3", "123_[1-999999999]", "123_[1-2%x]", "-1", "123;gpu2"])(
    "%j is none",
    (text) => {
      expect(parseJobId(text)).toBeUndefined();
    },
  );
});

describe("the reply of sbatch", () => {
  it.each([
    ["75168975;gpu2\n", { id: "75168975", cluster: "gpu2" }],
    ["123\n", { id: "123", cluster: null }],
    ["Submitted batch job 123\n", { id: "123", cluster: null }],
    ["Submitted batch job 123 on cluster gpu2\n", { id: "123", cluster: "gpu2" }],
    // A site's wrapper and a login's start-up files talk around it.
    ["*** Maintenance 2026 ***\nQuota: 71 % of 100\n4711\nHave a nice day\n", { id: "4711", cluster: null }],
    ["Checking your project 12 ...\r\n4712;tiger\r\n", { id: "4712", cluster: "tiger" }],
  ])("%j", (stdout, job) => {
    expect(parseReply(stdout)).toEqual(job);
  });

  it.each([
    "",
    "\n",
    "Maintenance 2026\n",
    "job 12\n",
    "12 34\n",
    "id=99\n",
    "12;\n",
    "12;a b\n",
    "12;rm -rf /\n",
  ])("%j names no job", (stdout) => {
    expect(parseReply(stdout)).toBeUndefined();
  });
});

describe("a state", () => {
  it.each([
    ["CANCELLED by 1001", "ended", "cancelled", 1001],
    ["CANCELLED by 0", "ended", "cancelled", 0],
    ["CANCELLED+", "ended", "cancelled", null],
    ["OUT_OF_ME+", "ended", "out_of_memory", null],
    ["COMPLETED", "ended", "completed", null],
    ["TIMEOUT", "ended", "walltime", null],
    ["PREEMPTED", "ended", "preempted", null],
    ["NODE_FAIL", "ended", "node_fail", null],
    ["BOOT_FAIL", "ended", "node_fail", null],
    ["FAILED", "ended", "failed", null],
    ["CD", "ended", "completed", null],
    ["completed", "ended", "completed", null],
    ["COMPLETING", "live", "stopping", null],
    ["CONFIGURING", "live", "starting", null],
    ["RUNNING", "live", "running", null],
    ["SUSPENDED", "live", "running", null],
    ["RD", "live", "queued", null],
    ["REQUEUE_HOLD", "live", "queued", null],
    ["SPECIAL_EXIT", "live", "queued", null],
    // Cut off so that it may be one or the other.
    ["COMPLET+", "live", "unknown", null],
    ["FUTURE_STATE", "live", "unknown", null],
    ["", "live", "unknown", null],
    ["42", "live", "unknown", null],
  ])("%s is %s (%s)", (text, phase, meaning, uid) => {
    const read = readState(text);
    expect(read.state).toEqual(
      phase === "ended" ? { phase: "ended", cause: meaning } : { phase: "live", state: meaning },
    );
    expect(read.uid).toBe(uid);
  });

  it("that is not known keeps its raw text", () => {
    expect(readState(" FUTURE_STATE ").word).toBe("FUTURE_STATE");
    expect(readState("COMPLET+").word).toBe("COMPLET+");
  });

  it("is known for every word in the captured outputs", () => {
    const words = sampleNames().flatMap((name) =>
      sample(name)
        .split("\n")
        .flatMap((line) => /^\d[\w[\]%-]*\|([A-Z_]{4,}[^|]*)\|/.exec(line)?.[1] ?? []),
    );
    expect(words.length).toBeGreaterThan(20);
    expect(words.filter((word) => /unknown/.test(JSON.stringify(readState(word))))).toEqual([]);
  });
});
