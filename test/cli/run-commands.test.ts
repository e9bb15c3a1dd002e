import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { LauncherProfile } from "../../src/launch/index.ts";
import { openStore, type RunState, type Store } from "../../src/track/index.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeProject } from "../support/temporary-project.ts";
import { removeFolder } from "../support/remove-folder.ts";

interface Place {
  readonly root: string;
  readonly store: Store;
}

const place = async (): Promise<Place> => {
  const root = await makeProject();
  const store = openStore(join(projectAt(root).state, "state.sqlite"), systemClock);
  onTestFinished(() => {
    store.close();
    removeFolder(root);
  });
  return { root, store };
};

/** A run in a state, with an attempt that ended for a reason or is open. */
const record = ({ root, store }: Place, id: string, states: readonly RunState[], reason?: string): void => {
  const folder = join(root, ".understudy/runs", id);
  const job = {
    kind: "train",
    runId: id,
    runFolder: folder,
    manifest: {},
    python: "python3",
    payload: join(root, "no-payload"),
    profile: LauncherProfile.parse({ schemaVersion: 1, kind: "local" }),
    diskBytes: 1,
    secrets: [],
    inputs: [],
    environment: null,
  };
  const lock = {
    schemaVersion: 1,
    job,
    proof: { kind: "train", steps: 4 },
    profileName: "local",
    resolved: null,
    git: null,
    forced: [],
  };
  store.createRun({ id, kind: "train", name: "smoke", recipeDigest: null, lock });
  const answer = store.acquireLease(id, { owner: "test", milliseconds: 60_000 });
  if (answer.outcome !== "acquired") throw new Error("held");
  store.addAttempt(answer.lease);
  store.updateAttempt(answer.lease, 1, {
    refs: [{ kind: "local", marker: `us-${id}-a1`, folder: join(folder, "attempts/1") }],
  });
  let from: RunState = "draft";
  for (const to of states) {
    store.transition(answer.lease, { from, to, reason: `it is ${to}` });
    from = to;
  }
  if (reason !== undefined) store.endAttempt(answer.lease, 1, { reason, exitCode: null, evidence: null });
  store.releaseLease(answer.lease);
};

const LOST: readonly RunState[] = ["packaged", "submitting", "starting", "lost"];
const LIVE: readonly RunState[] = ["packaged", "submitting", "starting"];

describe("run commands", () => {
  it("list what is true and what happens next, one line for each run in a pipe", async () => {
    const at = await place();
    record(at, "one", LOST, "evidence_missing");
    record(at, "two", LIVE);
    const { exitCode, stdout } = await runUnderstudy(["run", "list"], { cwd: at.root });
    expect(exitCode).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]?.split(/ {2,}/)).toEqual(["run", "state", "attempts", "last seen", "reason"]);
    expect(stdout).toMatch(/^two {2}starting \(stale\) /m);
    const Rows = z.array(
      z.looseObject({ id: z.string(), next: z.string(), unavailable: z.string().nullable() }),
    );
    const rows = Rows.parse(
      JSON.parse((await runUnderstudy(["run", "list", "--json"], { cwd: at.root })).stdout),
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.get("one")?.next).toContain("understudy run settle one");
    // The payload is gone, so the launcher cannot be opened: nothing is concluded from that.
    expect(byId.get("two")?.unavailable).toContain("wrapper.sh");
    expect(byId.get("two")?.next).toContain("nothing is concluded");
  });

  it("show attempts with their reasons in words, and what is spent", async () => {
    const at = await place();
    record(at, "one", ["packaged", "submitting", "starting", "running", "failed"], "node_lost");
    const { stdout } = await runUnderstudy(["run", "show", "one"], { cwd: at.root });
    expect(stdout).toContain("killed without a trace: the machine or the supervisor is gone");
    expect(stdout).toMatch(/^infra +1 +3 +2 /m);
    expect(stdout).toContain("resume it: understudy run resume one");
  });

  it("settle a lost run once, with a reason, and as succeeded only with its proof", async () => {
    const at = await place();
    record(at, "one", LOST, "evidence_missing");
    const settle = async (...words: string[]): ReturnType<typeof runUnderstudy> =>
      runUnderstudy(["run", "settle", "one", ...words], { cwd: at.root });
    expect((await settle("--as", "failed")).exitCode).toBe(2);
    expect((await settle("--as", "done", "--because", "x")).exitCode).toBe(2);
    const unproven = await settle("--as", "succeeded", "--because", "I am sure");
    expect(unproven).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("has not succeeded") });
    expect(at.store.getRun("one").state).toBe("lost");
    const settled = await settle("--as", "cancelled", "--because", "the host burnt down");
    expect(settled.stdout).toBe("run one is cancelled: settled by hand: the host burnt down\n");
    expect((await settle("--as", "failed", "--because", "again")).exitCode).toBe(2);
  });

  it("watch says by its exit code whether all is well", async () => {
    const at = await place();
    const watch = async (...words: string[]): ReturnType<typeof runUnderstudy> =>
      runUnderstudy(["run", "watch", ...words], { cwd: at.root });
    expect(await watch()).toMatchObject({ exitCode: 0, stdout: "no run is left to be watched\n" });
    record(at, "one", LOST, "evidence_missing");
    expect((await watch()).exitCode).toBe(0);
    expect((await watch("one")).exitCode).toBe(4);
    expect((await watch("none")).exitCode).toBe(2);
    record(at, "two", LIVE);
    const once = await watch("--once");
    expect(once.exitCode).toBe(4);
    expect(once.stdout).toContain("cannot be looked at");
    expect(at.store.getRun("two").state).toBe("starting");
  });
});
