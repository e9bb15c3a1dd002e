import { describe, expect, it } from "vitest";
import { RUN_STATES, type Run } from "../../src/track/index.ts";
import { outlook } from "../../src/workflow/index.ts";

const SEEN = "2026-01-31T10:15:00.000Z";

const run = (state: Run["state"], lastSeenAt: string | null = SEEN): Run => ({
  id: "smoke",
  kind: "train",
  name: "smoke",
  state,
  reason: "",
  recipeDigest: null,
  lock: null,
  parentId: null,
  pipelineId: null,
  stopRequested: false,
  stopNow: false,
  createdAt: SEEN,
  updatedAt: SEEN,
  lastSeenAt,
});

const at = (seconds: number): number => Date.parse(SEEN) + seconds * 1000;

describe("outlook", () => {
  it("says of every state who has to do something", () => {
    for (const state of RUN_STATES) expect(outlook(run(state), at(3600)).length).toBeGreaterThan(0);
    expect(outlook(run("succeeded"), at(0))).toContain("eval start smoke");
    expect(outlook({ ...run("succeeded"), kind: "score" }, at(0))).toBe("done");
    expect(outlook(run("lost"), at(0))).toContain("a person has to decide");
    expect(outlook(run("failed"), at(0))).toContain("run resume smoke");
  });

  it("says since when nobody watches, and what to do", () => {
    expect(outlook(run("running"), at(14))).toBe("somebody watches it");
    expect(outlook(run("running"), at(61))).toContain(`stale since ${SEEN}`);
    expect(outlook(run("running"), at(61))).toContain("run watch smoke");
  });

  it("does not take a start, or what was seen of an earlier attempt, for somebody who watches", () => {
    expect(outlook(run("starting", null), at(0))).toMatch(/^runs by itself; watch it/);
    const attempt = { startedAt: new Date(at(5)).toISOString() };
    expect(outlook(run("running"), at(6), attempt)).toMatch(/^runs by itself; watch it/);
    expect(outlook(run("running", new Date(at(7)).toISOString()), at(8), attempt)).toBe(
      "somebody watches it",
    );
  });
});
