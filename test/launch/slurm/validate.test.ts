import { describe, expect, it } from "vitest";
import type { Job, LaunchProblem } from "../../../src/launch/index.ts";
import { slurmSeconds } from "../../../src/launch/slurm/times.ts";
import { slurmNotes, validateSlurm } from "../../../src/launch/slurm/validate.ts";
import { slurmJob, slurmProfile } from "./plan-support.ts";

const problems = (settings: object, changes: Partial<Job> = {}): readonly LaunchProblem[] => {
  const profile = slurmProfile(settings);
  return validateSlurm(slurmJob(profile, changes), profile);
};
const codes = (settings: object, changes: Partial<Job> = {}): readonly string[] =>
  problems(settings, changes).map(({ code }) => code);

describe("validateSlurm", () => {
  it("has nothing to say about a good job", () => {
    expect(codes({})).toEqual([]);
    expect(
      codes({
        nodes: 2,
        cpusPerTask: 96,
        chain: 3,
        exclude: ["n7", "n[1-3,9]"],
        extra: ["--mail-type=END", "--exclusive"],
      }),
    ).toEqual([]);
  });

  it("refuses a time limit that the stop signal would use up", () => {
    const [problem] = problems({ time: "6", signalSeconds: 300 });
    expect(problem).toMatchObject({ code: "WALLTIME_TOO_SHORT" });
    expect(problem?.message).toContain("time 6 is 360 s");
    expect(problem?.hint).toContain("360");
    expect(codes({ time: "6:01", signalSeconds: 300 })).toEqual([]);
    expect(codes({ time: "00:01:00", signalSeconds: 120, graceSeconds: 20 })).toEqual(["WALLTIME_TOO_SHORT"]);
  });

  it.each([
    ["1-00:00:00", 86_400],
    ["3-0:00", 259_200],
    ["2-12", 216_000],
    ["90", 5400],
    ["30:00", 1800],
  ])("reads the time %s as Slurm does", (time, seconds) => {
    expect(slurmSeconds(time)).toBe(seconds);
    // More is not to be had of sbatch.
    const signalSeconds = Math.min(seconds - 400, 65_000);
    expect(codes({ time, signalSeconds })).toEqual([]);
  });

  it("refuses a stop that may take longer than Slurm waits", () => {
    expect(codes({ signalSeconds: 100, graceSeconds: 120 })).toEqual(["SIGNAL_TOO_LATE"]);
  });

  it("shows the arithmetic of a checkpoint that is too large to be saved in time", () => {
    const [problem] = problems({}, { diskBytes: 3 * 127e9 });
    expect(problem?.code).toBe("GRACE_TOO_SHORT");
    expect(problem?.message).toBe(
      "a checkpoint has about 127.0 GB, which at 1.0 GB/s takes 127 s to save; " +
        "the job is killed 120 s after it was asked to stop (graceSeconds)",
    );
    expect(codes({ graceSeconds: 260 }, { diskBytes: 3 * 127e9 })).toEqual([]);
    expect(codes({}, { kind: "score", manifest: { kind: "score" }, diskBytes: 3 * 127e9 })).toEqual([]);
  });

  it.each([
    ["--job-name=x", "found, followed and stopped"],
    ["--job-n=x", "found, followed and stopped"],
    ["--dependency=afterok:1", "found, followed and stopped"],
    ["--time=1", "set time of the profile"],
    ["--cpus-per-task=4", "set cpusPerTask of the profile"],
    ["--wrap=id", "found"],
    ["--ex=n1", "found, followed and stopped|set exclude"],
    ["--requeue", "set requeue"],
  ])("refuses %s, which would override ours", (option, hint) => {
    const [problem] = problems({ extra: [option] });
    expect(problem?.code).toBe("EXTRA_OVERRIDES");
    expect(problem?.message).toContain(option);
    expect(problem?.hint).toMatch(new RegExp(hint));
  });

  it.each([
    "--exclusive",
    "--time-min=30",
    "--mem-per-cpu=1G",
    "--gpus-per-node=8",
    "--mail-user=a@b.c",
    "--nice",
    "--licenses=x",
  ])("leaves %s to the site", (option) => {
    expect(codes({ extra: [option] })).toEqual([]);
  });

  it("reports every problem at once", () => {
    expect(
      codes(
        {
          nodes: 2,
          cpusPerTask: 4,
          chain: 2,
          time: "5",
          container: { engine: "docker", image: `x@sha256:${"0".repeat(64)}` },
        },
        { secrets: ["HF_TOKEN"], runFolder: "/a\\b" },
      ),
    ).toEqual([
      "NODES_DOCKER",
      "CPUS_TOO_FEW",
      "CHAIN_WITH_SECRETS",
      "RUN_FOLDER_BACKSLASH",
      "WALLTIME_TOO_SHORT",
    ]);
  });

  it("counts the processes of all nodes where a batch must come out even", () => {
    expect(codes({ nodes: 2, processes: 3 })).toEqual(["BATCH_NOT_WHOLE"]);
    const [problem] = problems({ nodes: 2, processes: 3 });
    expect(problem?.hint).toContain("processes: in the launcher profile");
    expect(codes({ nodes: 2, processes: 3 }, { kind: "infer", manifest: { kind: "infer" } })).toEqual([]);
  });
});

describe("notes on the time limit", () => {
  const notes = (settings: object, secondsPerStep?: number) => {
    const profile = slurmProfile(settings);
    return slurmNotes(slurmJob(profile, secondsPerStep === undefined ? {} : { secondsPerStep }), profile);
  };

  it("are silent where nobody knows the speed", () => {
    expect(notes({})).toEqual([]);
  });

  it("say how far a job and the chain reach", () => {
    expect(notes({ time: "12:00:00", chain: 1 }, 30)).toEqual([
      {
        name: "first evaluation",
        outcome: "ok",
        detail:
          "500 steps to the first evaluation take about 4.2 h; one job of 12:00:00 leaves 11.9 h before the stop",
      },
      {
        name: "chain",
        outcome: "ok",
        detail: "all 1200 steps take about 10.0 h; 1 × 12:00:00 leaves 11.9 h before the stop",
      },
    ]);
    expect(notes({ time: "4:00:00", chain: 2 }, 30).map(({ outcome }) => outcome)).toEqual([
      "unknown",
      "unknown",
    ]);
    expect(notes({ time: "4:00:00", chain: 3 }, 30).map(({ outcome }) => outcome)).toEqual(["unknown", "ok"]);
  });
});
