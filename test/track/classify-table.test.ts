import { describe, expect, it } from "vitest";
import { END_CAUSES, type EndCause, type Observation, type WrapperResult } from "../../src/launch/index.ts";
import { classify, END_REASONS, type Evidence } from "../../src/track/index.ts";

const RESULT_NAMES = [
  "none",
  "exit 0",
  "exit 1",
  "exit 2",
  "exit 3",
  "exit 69",
  "exit 75",
  "exit 199",
  "KILL",
  "SEGV",
  "unfit",
] as const;
type ResultName = (typeof RESULT_NAMES)[number];

const RESULTS: Readonly<
  Record<ResultName, (Partial<WrapperResult> & Pick<WrapperResult, "exitCode">) | null>
> = {
  none: null,
  "exit 0": { exitCode: 0 },
  "exit 1": { exitCode: 1 },
  "exit 2": { exitCode: 2 },
  "exit 3": { exitCode: 3 },
  "exit 69": { exitCode: 69 },
  "exit 75": { exitCode: 75 },
  "exit 199": { exitCode: 199 },
  KILL: { exitCode: 137, reason: "signalled", signal: "SIGKILL" },
  SEGV: { exitCode: 139, reason: "signalled", signal: "SIGSEGV" },
  unfit: { exitCode: 69, reason: "node-check" },
};

const resultOf = (name: ResultName): WrapperResult | null => {
  const changes = RESULTS[name];
  if (changes === null) return null;
  return {
    schemaVersion: 1,
    marker: "m",
    signal: null,
    startedAt: "",
    endedAt: "",
    host: "h",
    reason: "exited",
    detail: "",
    ...changes,
  };
};

type Cause = EndCause | "silent";
const CAUSES: readonly Cause[] = ["silent", ...END_CAUSES];

const seen = (cause: Cause, result: ResultName, goesOn = false): Observation => ({
  phase: "ended",
  detail: "seen",
  result: resultOf(result),
  ...(cause === "silent" ? {} : { cause }),
  ...(goesOn ? { continues: { refs: [], token: "t.2" } } : {}),
});

const plain: Evidence = { stopRequested: false, proof: false, lastEvent: null, waited: true };

// With nothing asked for, no proof, no progress, nothing said, and nothing that may still arrive.
const own = {
  "exit 0": "no_proof",
  "exit 1": "crashed",
  "exit 2": "config_error",
  "exit 3": "stopped",
  "exit 69": "node_check",
  "exit 75": "fenced",
  "exit 199": "crashed",
  KILL: "killed",
  SEGV: "crashed",
  unfit: "node_check",
} as const;
const always = (name: string): Readonly<Record<ResultName, string>> => ({
  none: name,
  "exit 0": name,
  "exit 1": name,
  "exit 2": "config_error",
  "exit 3": name,
  "exit 69": name,
  "exit 75": "fenced",
  "exit 199": name,
  KILL: name,
  SEGV: name,
  unfit: name,
});
const TABLE: Readonly<Record<Cause, Readonly<Record<ResultName, string>>>> = {
  silent: { ...own, none: "node_lost" },
  completed: { ...own, none: "result_missing" },
  failed: { ...own, none: "node_lost" },
  preempted: always("preempted"),
  node_fail: always("node_lost"),
  walltime: always("walltime_no_progress"),
  out_of_memory: always("out_of_memory"),
  cancelled: always("cancelled_by_other"),
  cancelled_by_other: always("cancelled_by_other"),
  no_capacity: { ...own, none: "no_capacity" },
  fenced: { ...always("fenced"), "exit 2": "fenced" },
  not_started: { ...own, none: "not_started" },
  unknown: { ...always("unknown"), "exit 2": "unknown", "exit 75": "unknown" },
};

const EVENTS: readonly Evidence["lastEvent"][] = [
  null,
  { type: "finished" },
  { type: "stopped" },
  { type: "failed", code: "SHARD_BAD" },
  { type: "failed", code: "CUDA_OUT_OF_MEMORY" },
];
const YES_NO = [false, true] as const;

interface Case {
  readonly cause: Cause;
  readonly result: ResultName;
  readonly evidence: Evidence;
  readonly goesOn: boolean;
}

function* cases(): Iterable<Case> {
  for (const cause of CAUSES)
    for (const result of RESULT_NAMES)
      for (const stopRequested of YES_NO)
        for (const proof of YES_NO)
          for (const progress of YES_NO)
            for (const waited of YES_NO)
              for (const goesOn of YES_NO)
                for (const lastEvent of EVENTS)
                  yield {
                    cause,
                    result,
                    goesOn,
                    evidence: { stopRequested, proof, progress, waited, lastEvent },
                  };
}

const nameOf = ({ cause, result, evidence, goesOn }: Case): string | null =>
  classify(seen(cause, result, goesOn), evidence)?.name ?? null;

describe("the reason table, over every cause and result", () => {
  it.each(CAUSES)("%s", (cause) => {
    for (const result of RESULT_NAMES) {
      const name = nameOf({ cause, result, evidence: plain, goesOn: false });
      expect(name, result).toBe(TABLE[cause][result]);
    }
  });

  const all = [...cases()];
  const where = (one: Case): string => JSON.stringify(one);

  /** Cases that break a rule, in words. */
  const against = (rule: (one: Case, name: string | null) => boolean): string[] =>
    all.flatMap((one) => {
      const name = nameOf(one);
      return rule(one, name) ? [] : [`${name}: ${where(one)}`];
    });

  it("is total, and covers the whole product", () => {
    expect(all).toHaveLength(13 * 11 * 2 ** 5 * 5);
    expect(against((_, name) => name === null || Object.hasOwn(END_REASONS, name))).toEqual([]);
  });

  it("has one way to success: exit 0 and the proof, and no word that nobody understands", () => {
    const broken = against(({ cause, result, evidence }, name) => {
      const may = result === "exit 0" && evidence.proof && cause !== "unknown" && cause !== "fenced";
      return (name === "succeeded") === may;
    });
    expect(broken).toEqual([]);
  });

  it("takes what it does not understand neither for success nor for failure", () => {
    expect(
      against(({ cause }, name) => cause !== "unknown" || name === "unknown" || name === "cancelled"),
    ).toEqual([]);
  });

  it("does not conclude from missing checkpoints at a time limit before they have had their time", () => {
    const late: Case = {
      cause: "walltime",
      result: "exit 3",
      goesOn: false,
      evidence: { ...plain, progress: false, waited: false },
    };
    expect(nameOf(late)).toBeNull();
    expect(nameOf({ ...late, evidence: { ...late.evidence, progress: true } })).toBe("walltime");
    expect(nameOf({ ...late, evidence: { ...late.evidence, waited: true } })).toBe("walltime_no_progress");
    expect(nameOf({ ...late, evidence: { ...late.evidence, stopRequested: true } })).toBe("cancelled");
  });

  /** What a case lacks that may still arrive. */
  const lacks = ({ cause, result, evidence, goesOn }: Case): boolean => {
    const lacksResult = result === "none" && (cause === "completed" || cause === "failed") && !goesOn;
    const lacksProof = result === "exit 0" && !evidence.proof;
    const lacksProgress = cause === "walltime" && !evidence.progress && !evidence.stopRequested && !goesOn;
    return lacksResult || lacksProof || lacksProgress;
  };

  it("waits only for what may still arrive", () => {
    const broken = against((one, name) => {
      if (name !== null) return true;
      const later = nameOf({ ...one, evidence: { ...one.evidence, waited: true } });
      return !one.evidence.waited && lacks(one) && later !== null;
    });
    expect(broken).toEqual([]);
    expect(all.some((one) => nameOf(one) === null)).toBe(true);
  });

  it("goes on after the time limit only where there is something new to go on from", () => {
    for (const progress of YES_NO) {
      const name = nameOf({
        cause: "walltime",
        result: "none",
        goesOn: false,
        evidence: { ...plain, progress },
      });
      expect(name).toBe(progress ? "walltime" : "walltime_no_progress");
      expect(END_REASONS[progress ? "walltime" : "walltime_no_progress"].status).toBe("timed_out");
    }
  });

  it("never goes on by itself after a stop that was asked for", () => {
    const broken = against(({ cause, result, goesOn, evidence }) => {
      const ending = classify(seen(cause, result, goesOn), evidence);
      return !evidence.stopRequested || ending === null || ending.retry === "none";
    });
    expect(broken).toEqual([]);
  });

  it("does not ask a person about a job without a trace while the far side goes on", () => {
    const one = { cause: "completed", result: "none", goesOn: true } as const;
    expect(nameOf({ ...one, evidence: { ...plain, waited: false } })).toBe("node_lost");
  });

  it("says when a success is called something else by its scheduler", () => {
    const ending = classify(seen("node_fail", "exit 0"), { ...plain, proof: true });
    expect(ending?.detail).toContain("its scheduler says node fail");
    expect(classify(seen("completed", "exit 0"), { ...plain, proof: true })?.detail).not.toContain("says");
  });
});
