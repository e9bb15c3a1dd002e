import { describe, expect, it } from "vitest";
import { isMarker, markerOf } from "../../src/launch/index.ts";
import {
  END_REASONS,
  endReason,
  isEndReason,
  mayGo,
  newRunId,
  RUN_STATES,
  TERMINAL_STATES,
  TRANSITIONS,
} from "../../src/track/index.ts";

describe("the state machine", () => {
  it("is total and leads only to states that exist", () => {
    expect(Object.keys(TRANSITIONS).toSorted()).toEqual([...RUN_STATES].toSorted());
    for (const targets of Object.values(TRANSITIONS)) {
      expect(targets.filter((target) => !RUN_STATES.includes(target))).toEqual([]);
    }
  });

  it("reaches every state from draft, and an end from every state", () => {
    const reach = (from: (typeof RUN_STATES)[number]): Set<string> => {
      const seen = new Set<(typeof RUN_STATES)[number]>([from]);
      for (const state of seen) for (const next of TRANSITIONS[state]) seen.add(next);
      return seen;
    };
    expect([...reach("draft")].toSorted()).toEqual([...RUN_STATES].toSorted());
    for (const state of RUN_STATES) {
      expect(
        TERMINAL_STATES.some((end) => reach(state).has(end)),
        state,
      ).toBe(true);
    }
  });

  it("never leaves success, never cancels back to running, never skips the submit", () => {
    expect(TRANSITIONS.succeeded).toEqual([]);
    expect(mayGo("cancelling", "running")).toBe(false);
    expect(mayGo("packaged", "running")).toBe(false);
    expect(mayGo("draft", "succeeded")).toBe(false);
    expect(mayGo("failed", "succeeded")).toBe(false);
    expect(mayGo("running", "running")).toBe(true);
  });
});

describe("the reason table", () => {
  it("ends in terminal states, and has a budget exactly where it retries", () => {
    for (const [name, { status, retry, budget }] of Object.entries(END_REASONS)) {
      expect(TERMINAL_STATES, name).toContain(status);
      expect(budget === null, name).toBe(retry === "none");
    }
  });

  it("knows one success", () => {
    const successes = Object.entries(END_REASONS).filter(([, { status }]) => status === "succeeded");
    expect(successes.map(([name]) => name)).toEqual(["succeeded"]);
  });

  it.each(["FUTURE_STATE", "", "toString", "__proto__", "constructor"])("takes %j for unknown", (word) => {
    expect(isEndReason(word)).toBe(false);
    expect(endReason(word)).toBe(END_REASONS.unknown);
    expect(endReason(word).status).not.toBe("succeeded");
  });
});

describe("run ids", () => {
  it("begin with what they are for, and are told apart by chance", () => {
    expect(newRunId("SpeechRole Agent (ood)!", "x2y3z4")).toBe("speechrole-agent-ood-x2y3z4");
    expect(newRunId("日本", "x2y3z4")).toBe("run-x2y3z4");
    expect(newRunId(`${"a".repeat(29)}-b`, "x2y3z4")).toBe(`${"a".repeat(29)}-x2y3z4`);
    const ids = Array.from({ length: 50 }, () => newRunId("n"));
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(id).toMatch(/^n-[a-z2-9]{6}$/);
  });

  it("are legal names of jobs everywhere, also with what evaluation jobs append", () => {
    const id = newRunId("x".repeat(80));
    for (const run of [id, `${id}-measure-12`]) {
      expect(isMarker(markerOf(run, 99_999))).toBe(true);
      expect(markerOf(run, 1)).toBe(`us-${run}-a1`);
    }
  });
});
