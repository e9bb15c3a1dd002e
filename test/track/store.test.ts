import { describe, expect, it } from "vitest";
import { openDatabase } from "../../src/track/database.ts";
import { openStore, type PayloadLine } from "../../src/track/index.ts";
import { aRun, codeOf, leaseOn, opened } from "./support.ts";

describe("runs", () => {
  it("are kept as they were made, over a restart", () => {
    const { store, path, clock, runId } = opened();
    store.close();
    const again = openStore(path, clock);
    expect(again.getRun(runId)).toEqual({
      ...aRun(),
      state: "draft",
      reason: "created",
      parentId: null,
      pipelineId: null,
      stopRequested: false,
      stopNow: false,
      createdAt: "2026-01-31T10:15:00.000Z",
      updatedAt: "2026-01-31T10:15:00.000Z",
      lastSeenAt: null,
    });
    expect(again.findRun("none")).toBeUndefined();
    expect(codeOf(() => again.getRun("none"))).toBe("RUN_UNKNOWN");
  });

  it("are listed newest first and by pipeline, kind and state", () => {
    const { store, clock, lease, runId } = opened();
    clock.forward(1000);
    store.createRun(aRun({ id: "b", kind: "score", pipelineId: "p" }));
    store.createRun(aRun({ id: "c", pipelineId: "p", parentId: runId }));
    store.transition(lease, { from: "draft", to: "packaged", reason: "ready" });
    expect(store.listRuns().map(({ id }) => id)).toEqual(["c", "b", runId]);
    expect(store.listRuns({ pipelineId: "p" }).map(({ id }) => id)).toEqual(["c", "b"]);
    expect(store.listRuns({ pipelineId: "p", kind: "score" }).map(({ id }) => id)).toEqual(["b"]);
    expect(store.listRuns({ states: ["packaged", "running"] }).map(({ id }) => id)).toEqual([runId]);
    expect(store.listRuns({ states: [] })).toEqual([]);
  });

  it("move only along the table, from the state they are in, and leave a trail", () => {
    const { store, lease, runId } = opened();
    expect(codeOf(() => store.transition(lease, { from: "draft", to: "running", reason: "" }))).toBe(
      "TRANSITION_ILLEGAL",
    );
    expect(codeOf(() => store.transition(lease, { from: "packaged", to: "submitting", reason: "" }))).toBe(
      "STATE_CHANGED",
    );
    expect(store.getRun(runId).state).toBe("draft");
    store.transition(lease, { from: "draft", to: "packaged", reason: "ready" });
    store.transition(lease, { from: "packaged", to: "packaged", reason: "still ready" });
    expect(store.getRun(runId)).toMatchObject({ state: "packaged", reason: "still ready" });
    const trail = store.events(runId, { types: ["run.state"] });
    expect(trail.map(({ data }) => data)).toEqual([{ from: "draft", to: "packaged", reason: "ready" }]);
  });

  it("are asked to stop by anybody, once, and seen by whoever holds them", () => {
    const { store, clock, lease, runId } = opened();
    store.requestStop(runId);
    store.requestStop(runId);
    expect(store.getRun(runId).stopRequested).toBe(true);
    expect(store.events(runId, { types: ["run.stop_requested"] })).toHaveLength(1);
    clock.forward(5000);
    store.markSeen(lease);
    store.clearStop(lease);
    expect(store.getRun(runId)).toMatchObject({
      stopRequested: false,
      lastSeenAt: "2026-01-31T10:15:05.000Z",
    });
    expect(codeOf(() => store.requestStop("none"))).toBe("RUN_UNKNOWN");
  });

  it("keep that they are to end at once, whatever is asked for later, until the stop is withdrawn", () => {
    const { store, lease, runId } = opened();
    store.requestStop(runId);
    expect(store.getRun(runId).stopNow).toBe(false);
    store.requestStop(runId, "now");
    store.requestStop(runId, "graceful");
    store.requestStop(runId, "now");
    expect(store.getRun(runId)).toMatchObject({ stopRequested: true, stopNow: true });
    expect(store.watchedRuns()).toMatchObject([{ id: runId, stopNow: true }]);
    const asked = store.events(runId, { types: ["run.stop_requested"] }).map(({ data }) => data);
    expect(asked).toEqual([{ mode: "graceful" }, { mode: "now" }]);
    store.clearStop(lease);
    expect(store.getRun(runId)).toMatchObject({ stopRequested: false, stopNow: false });
  });
});

describe("attempts", () => {
  it("have marker and token before anything is sent, one at a time, and end once", () => {
    const { store, lease, runId } = opened();
    const first = store.addAttempt(lease);
    expect(first).toMatchObject({ number: 1, marker: `us-${runId}-a1`, refs: null, endedAt: null });
    expect(codeOf(() => store.addAttempt(lease))).toBe("ATTEMPT_OPEN");
    const refs = [{ kind: "local", marker: first.marker, folder: "/x" }];
    expect(store.updateAttempt(lease, 1, { refs }).refs).toEqual(refs);
    expect(store.updateAttempt(lease, 1, { evidence: { seen: "live" } })).toMatchObject({
      refs,
      evidence: { seen: "live" },
    });
    store.endAttempt(lease, 1, { reason: "node_lost", exitCode: null, evidence: { seen: "gone" } });
    expect(codeOf(() => store.updateAttempt(lease, 1, { refs: null }))).toBe("ATTEMPT_ENDED");
    expect(
      codeOf(() => store.endAttempt(lease, 1, { reason: "succeeded", exitCode: 0, evidence: null })),
    ).toBe("ATTEMPT_ENDED");
    expect(codeOf(() => store.updateAttempt(lease, 9, {}))).toBe("ATTEMPT_UNKNOWN");
    const second = store.addAttempt(lease);
    expect(second).toMatchObject({ number: 2, marker: `us-${runId}-a2` });
    expect(second.token).not.toBe(first.token);
    expect(store.attempts(runId).map(({ reason }) => reason)).toEqual(["node_lost", null]);
  });

  it("and events are guarded by the database itself", () => {
    const { store, path, lease } = opened();
    store.addAttempt(lease);
    store.endAttempt(lease, 1, { reason: "crashed", exitCode: 1, evidence: null });
    const database = openDatabase(path);
    expect(() => database.run("UPDATE attempts SET reason = 'succeeded'")).toThrow(/never changed/);
    expect(() => database.run("UPDATE events SET type = 'x'")).toThrow(/only appended/);
    expect(() => database.run("DELETE FROM events")).toThrow(/only appended/);
    expect(() =>
      database.run(
        "INSERT INTO attempts SELECT run_id, 7, marker, token, refs, started_at, NULL, NULL, NULL, evidence FROM attempts",
      ),
    ).toThrow(/UNIQUE/);
  });
});

describe("events and metrics", () => {
  it("come in order, filtered and in pages", () => {
    const { store, lease, runId } = opened();
    for (let index = 0; index < 250; index++) {
      store.appendEvent(lease, {
        type: index % 2 ? "odd" : "even",
        attempt: 1 + (index % 3),
        data: { index },
      });
    }
    const all = store.events(runId, { types: ["odd", "even"] });
    expect(all.map(({ data }) => data)).toEqual(Array.from({ length: 250 }, (_, index) => ({ index })));
    const page = store.events(runId, { types: ["odd"], after: all[100]?.sequence ?? 0, limit: 2 });
    expect(page.map(({ data }) => data)).toEqual([{ index: 101 }, { index: 103 }]);
    expect(store.events(runId, { attempt: 2, limit: 1 })[0]).toMatchObject({
      attempt: 2,
      data: { index: 1 },
    });
  });

  it("give the newest attempt's value where a step was repeated", () => {
    const { store, lease, runId } = opened();
    const at = (attempt: number, step: number, value: number): PayloadLine => ({
      type: "step",
      at: "2026-01-31T10:00:00Z",
      attempt,
      data: {},
      metrics: [{ name: "train/loss", step, value }],
    });
    const lines = [at(1, 10, 5), at(1, 20, 4), at(1, 30, 3.5), at(2, 20, 4.25), at(2, 20, 4.125)];
    store.ingest(lease, { stream: "s", from: 0, to: 1, lines });
    expect(store.series(runId, "train/loss")).toEqual([
      { step: 10, value: 5 },
      { step: 20, value: 4.125 },
      { step: 30, value: 3.5 },
    ]);
    expect(store.metrics(runId)).toHaveLength(4);
    expect(store.metrics(runId, "dev/loss")).toEqual([]);
    expect(store.metrics(runId, "train/loss")[2]).toMatchObject({ attempt: 2, step: 20, value: 4.125 });
  });
});

describe("leases", () => {
  it("let one owner act, and the next one after they ran out", () => {
    const { store, path, clock, lease, runId } = opened();
    const other = openStore(path, clock);
    expect(other.acquireLease(runId, { owner: "other", milliseconds: 1000 })).toEqual({
      outcome: "held",
      owner: "me",
      expiresAt: lease.expiresAt,
    });
    const renewed = store.renewLease(lease, 60_000);
    clock.forward(30_000);
    expect(other.acquireLease(runId, { owner: "other", milliseconds: 1000 }).outcome).toBe("held");
    clock.forward(30_000);
    // It ran out, but nobody has it: what the owner does is still safe.
    store.markSeen(renewed);
    expect(other.acquireLease(runId, { owner: "other", milliseconds: 1000 })).toMatchObject({
      outcome: "acquired",
      takenFrom: "me",
    });
    expect(store.events(runId, { types: ["lease.taken_over"] }).map(({ data }) => data)).toEqual([
      { from: "me", to: "other" },
    ]);
  });

  it("guard every write", () => {
    const { store, path, clock, lease, runId } = opened();
    store.addAttempt(lease);
    const other = openStore(path, clock);
    const taken = other.acquireLease(runId, { owner: "other", milliseconds: 1000, replacing: "me" });
    if (taken.outcome !== "acquired") throw new Error("not taken over");
    const before = JSON.stringify([store.getRun(runId), store.attempts(runId), store.events(runId)]);
    const writes: (() => unknown)[] = [
      () => store.transition(lease, { from: "draft", to: "packaged", reason: "" }),
      () => store.addAttempt(lease),
      () => store.updateAttempt(lease, 1, { refs: 1 }),
      () => store.endAttempt(lease, 1, { reason: "x", exitCode: 0, evidence: 0 }),
      () => store.appendEvent(lease, { type: "x", data: 0 }),
      () => store.ingest(lease, { stream: "s", from: 0, to: 1, lines: [] }),
      () => store.markSeen(lease),
      () => store.clearStop(lease),
      () => store.renewLease(lease, 1),
    ];
    for (const write of writes) expect(codeOf(write), String(write)).toBe("LEASE_LOST");
    expect(JSON.stringify([store.getRun(runId), store.attempts(runId), store.events(runId)])).toBe(before);
    // Giving back what is not ours takes nothing from the new holder.
    store.releaseLease(lease);
    other.markSeen(taken.lease);
    other.releaseLease(taken.lease);
    expect(codeOf(() => other.markSeen(taken.lease))).toBe("LEASE_LOST");
    expect(leaseOn(store, runId).owner).toBe("me");
    expect(codeOf(() => store.acquireLease("none", { owner: "me", milliseconds: 1 }))).toBe("RUN_UNKNOWN");
  });
});
