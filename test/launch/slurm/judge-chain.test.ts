import { describe, expect, it } from "vitest";
import { judge } from "../../../src/launch/slurm/judge.ts";
import { accounted, begun, NOW, queued, result, sceneOf, type Told } from "./scenes.ts";

describe("a job that Slurm starts again", () => {
  const again = { 1: queued("PENDING", { reason: "BeginTime" }) };

  it("ends its attempt with the cause that the accounts have, and goes on", () => {
    const rows = [
      accounted("PREEMPTED"),
      accounted("PENDING", { start: null, end: null, submit: NOW - 900 }),
    ];
    const told: Told = { queue: again, files: begun(), claims: { "us-r-a1": "11" } };
    expect(judge(sceneOf(told))).toBe("accounts");
    expect(judge(sceneOf({ ...told, accounts: { 1: rows } }))).toMatchObject({
      phase: "ended",
      result: null,
      cause: "preempted",
      continues: {
        token: "t.2",
        refs: [{ marker: "us-r-a2", folder: "/runs/r/attempts/2", jobs: [{ id: "11", link: 1 }] }],
      },
    });
  });

  it("after a node failure likewise", () => {
    const rows = [accounted("NODE_FAIL"), accounted("PENDING", { start: null, end: null })];
    expect(judge(sceneOf({ queue: again, files: begun(), accounts: { 1: rows } }))).toMatchObject({
      phase: "ended",
      cause: "node_fail",
      continues: { token: "t.2" },
    });
  });

  it("does not go on after a stop was asked for", () => {
    const rows = [accounted("REQUEUED"), accounted("PENDING", { start: null, end: null })];
    const seen = judge(
      sceneOf({ queue: again, files: { ...result(3), STOP: "cancel\n" }, accounts: { 1: rows } }),
    );
    expect(seen).toMatchObject({ phase: "ended" });
    expect(seen).not.toHaveProperty("continues");
  });

  it("keeps the first run's end, whatever became of the second", () => {
    const rows = [
      accounted("PREEMPTED"),
      accounted("COMPLETED", { submit: NOW - 900, start: NOW - 900, end: NOW - 10 }),
    ];
    const told: Told = {
      queue: { 1: queued("COMPLETED") },
      files: begun(),
      claims: { "us-r-a1": "11", "us-r-a2": "11" },
      accounts: { 1: rows },
    };
    expect(judge(sceneOf(told))).toMatchObject({
      phase: "ended",
      cause: "preempted",
      continues: { token: "t.2" },
    });
  });
});

describe("a chain", () => {
  const waiting = queued("PENDING", { id: "12", reason: "Dependency" });

  it("goes on after the time limit", () => {
    expect(
      judge(sceneOf({ links: 2, queue: { 1: queued("TIMEOUT"), 2: waiting }, files: begun() })),
    ).toMatchObject({ phase: "ended", cause: "walltime", continues: { refs: [{ marker: "us-r-a2" }] } });
  });

  it.each([0, 1, 2, 75])("does not go on after exit code %i", (code) => {
    const seen = judge(
      sceneOf({ links: 2, queue: { 1: queued("COMPLETED"), 2: waiting }, files: result(code) }),
    );
    expect(seen).toMatchObject({ phase: "ended" });
    expect(seen).not.toHaveProperty("continues");
  });

  it("waits with its next attempt for the next link", () => {
    const seen = judge(
      sceneOf({ links: 2, number: 2, queue: { 1: queued("TIMEOUT"), 2: waiting }, files: begun() }),
    );
    expect(seen).toMatchObject({ phase: "live", state: "queued" });
  });

  it("ends an attempt that its links decided not to begin", () => {
    const skip = JSON.stringify({
      ...JSON.parse(begun()["links/1-1.json"] ?? "{}"),
      link: 2,
      job: "12",
      decision: "no-progress",
      attempt: null,
      reason: "attempt 1 left nothing newer to go on from",
      at: "2026-11-29T01:00:00Z",
    });
    const ended = queued("FAILED", { id: "12" });
    expect(
      judge(
        sceneOf({
          links: 2,
          number: 2,
          queue: { 1: queued("TIMEOUT"), 2: ended },
          files: { ...begun(), "links/1-2.json": skip },
        }),
      ),
    ).toMatchObject({
      phase: "ended",
      cause: "not_started",
      detail: expect.stringContaining("nothing newer"),
    });
  });
});

describe("an attempt that was begun without a name", () => {
  const waiting = queued("PENDING", { id: "12", reason: "Dependency" });
  const claims = { "us-r-a1.link-1": "11", "us-r-a1": "" };
  const files = { fence: "t\n" };

  it("may be about to say it while its job runs", () => {
    const running: Told = { links: 2, claims, files, queue: { 1: queued("RUNNING"), 2: waiting } };
    expect(judge(sceneOf(running))).toMatchObject({ phase: "live", state: "starting" });
  });

  it("has ended with the job that can have begun it, and the next link goes on", () => {
    const over: Told = { links: 2, claims, files, queue: { 1: queued("NODE_FAIL"), 2: waiting } };
    expect(judge(sceneOf(over))).toMatchObject({
      phase: "ended",
      result: null,
      cause: "node_fail",
      continues: { token: "t.2", refs: [{ marker: "us-r-a2" }] },
    });
  });

  it("has ended when no job is left, as the scheduler says", () => {
    const told: Told = { claims, files, queue: { 1: queued("CANCELLED") } };
    expect(judge(sceneOf(told))).toBe("accounts");
    expect(judge(sceneOf({ ...told, accounts: { 1: [accounted("CANCELLED by 0")] } }))).toMatchObject({
      phase: "ended",
      cause: "cancelled_by_other",
    });
    expect(judge(sceneOf({ claims, files, accounts: { 1: [] } }))).toMatchObject({ phase: "absent" });
  });

  it.each(["RUNNING", "COMPLETED"])("is over when the next one has begun, in a job that is %s", (state) => {
    const told: Told = {
      links: 2,
      queue: { 1: queued("FAILED"), 2: queued(state, { id: "12" }) },
      files: { ...files, ...begun(2, "12") },
      claims: { ...claims, "us-r-a1.link-2": "12", "us-r-a2": "12" },
    };
    expect(judge(sceneOf(told))).toMatchObject({
      phase: "ended",
      result: null,
      cause: "failed",
      continues: { token: "t.2", refs: [{ marker: "us-r-a2" }] },
    });
  });

  it("has ended when Slurm has started its job again, which has begun the next one", () => {
    const rows = [accounted("PREEMPTED"), accounted("RUNNING", { start: NOW - 900, end: null })];
    const told: Told = {
      queue: { 1: queued("RUNNING") },
      files: { ...files, ...begun(2) },
      claims: { ...claims, "us-r-a2": "11" },
      accounts: { 1: rows },
    };
    expect(judge(sceneOf(told))).toMatchObject({
      phase: "ended",
      cause: "preempted",
      continues: { refs: [{ marker: "us-r-a2" }] },
    });
  });
});
