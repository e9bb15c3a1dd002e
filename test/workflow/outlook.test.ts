import { describe, expect, it } from "vitest";
import { RUN_STATES, TERMINAL_STATES, type Run } from "../../src/track/index.ts";
import { outlook, type OutlookOptions } from "../../src/workflow/outlook.ts";

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
  it("says of every state who has to do something, whether somebody watches or not", () => {
    for (const state of RUN_STATES) {
      const [alone, watched] = [false, true].map((is) =>
        outlook(run(state, null), at(3600), undefined, { watched: is }),
      );
      const isOver = TERMINAL_STATES.includes(state);
      expect(watched).toMatch(isOver ? /./ : /^somebody watches it/);
      if (!isOver) expect(alone).toMatch(/watch it: understudy run watch smoke$/);
      expect(alone === watched).toBe(isOver);
    }
    expect(outlook(run("succeeded"), at(0))).toContain("eval start smoke");
    expect(outlook({ ...run("succeeded"), kind: "score" }, at(0))).toBe("done");
    expect(outlook(run("failed"), at(0))).toContain("run resume smoke");
  });

  it("names for an ambiguous run what helps, and nothing that is refused", () => {
    for (const watched of [false, true]) {
      const words = outlook(run("ambiguous"), at(0), undefined, { watched });
      expect(words).toContain(
        "if its machine is gone for good: understudy run settle smoke --as failed --because TEXT",
      );
      expect(words).not.toContain("run resume");
    }
    const stopping = outlook({ ...run("ambiguous"), stopRequested: true }, at(0));
    expect(stopping).toContain("settle smoke --as cancelled");
  });

  it("names the report of a run that was evaluated, and an evaluation that was not finished", () => {
    const after = (evaluation: OutlookOptions["evaluation"]): string =>
      outlook(run("succeeded"), at(0), undefined, { evaluation });
    expect(after({ begun: true, report: "/state/reports/smoke/index.html" })).toBe(
      "done; its report: /state/reports/smoke/index.html",
    );
    expect(after({ begun: true, report: null })).toMatch(/^its evaluation was begun and has no report yet/);
    expect(after({ begun: false, report: null })).toMatch(/^compare its checkpoints/);
  });

  it("tells an earlier answer from one of now, and says a trouble once", () => {
    const unavailable = "CredentialsProviderError";
    const blind = (changes: Partial<Run>, options: OutlookOptions): string =>
      outlook({ ...run("starting", null), ...changes }, at(0), undefined, { unavailable, ...options });
    expect(blind({}, {})).toBe(
      `it has not been seen yet: it cannot be looked at now (${unavailable}); nothing is concluded from that`,
    );
    const earlier = blind({}, { unavailableAt: SEEN });
    expect(earlier).toContain(`when another command asked, at ${SEEN} (${unavailable})`);
    expect(earlier).toContain("understudy run show smoke --fresh");
    expect(earlier).not.toContain("now (");
    expect(blind({ reason: `waits: ${unavailable}` }, {})).not.toContain(unavailable);
  });

  it("tells a person how to decide about a lost run", () => {
    const words = outlook(run("lost"), at(0));
    expect(words).toContain("a person has to decide");
    expect(words).toContain("understudy run resume smoke");
    expect(words).toContain("understudy run settle smoke");
  });

  it("tells of a blocked run what the run that it waits for needs", () => {
    const child = { ...run("blocked"), id: "child", parentId: "smoke" };
    const parent = (state: Run["state"]): { id: string; state: Run["state"] } => ({ id: "smoke", state });
    expect(outlook(child, at(0), undefined, { parent: parent("failed") })).toBe(
      "goes on by itself once smoke has succeeded: understudy run resume smoke",
    );
    const lost = outlook(child, at(0), undefined, { parent: parent("lost") });
    expect(lost).toMatch(/^goes on by itself once smoke has succeeded, which a person has to decide/);
    expect(lost).toContain("understudy run settle smoke");
  });

  it("says since when nobody watches, and what to do", () => {
    expect(outlook(run("running"), at(14), undefined, { watched: true })).toBe("somebody watches it");
    // It was seen just now by one that looked once: nobody goes on with it.
    expect(outlook(run("running"), at(1))).toMatch(/^the job goes on by itself; nobody watches/);
    expect(outlook(run("running"), at(61))).toContain(`stale since ${SEEN}`);
    expect(outlook(run("running"), at(61))).toContain("run watch smoke");
    // Who only looked has seen it, and does nothing for it.
    const lookedAt = new Date(at(60)).toISOString();
    const seen = outlook(run("running"), at(61), undefined, { lookedAt });
    expect(seen).toBe(
      "the job goes on by itself; nobody watches: its end is recorded, and another attempt begun where one is needed, only when " +
        "somebody does; watch it: understudy run watch smoke",
    );
  });

  it("does not take a start, or what was seen of an earlier attempt, for somebody who watches", () => {
    expect(outlook(run("starting", null), at(0))).toMatch(/^the job goes on by itself; nobody watches/);
    const attempt = { startedAt: new Date(at(5)).toISOString() };
    expect(outlook(run("running"), at(6), attempt)).toMatch(/^the job goes on by itself; nobody watches/);
    expect(outlook(run("running"), at(60), attempt)).not.toContain("stale since");
  });
});
