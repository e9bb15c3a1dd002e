import { cpSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { LauncherProfile } from "../../src/launch/index.ts";
import { openStore, type RunState, type Store } from "../../src/track/index.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeProject } from "../support/temporary-project.ts";
import { removeFolder } from "../support/remove-folder.ts";

interface Place {
  readonly store: Store;
  readonly command: (...words: string[]) => ReturnType<typeof runUnderstudy>;
  /** A run on the machine that is away, with an open attempt. */
  readonly record: (id: string, state: RunState, evidence?: unknown) => void;
}

/** A port of this machine at which nobody listens. */
const closedPort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
};

const REASON = "it is not known whether the job exists: the connection was lost";

const place = async (): Promise<Place> => {
  const root = await makeProject();
  const store = openStore(join(projectAt(root).state, "state.sqlite"), systemClock);
  onTestFinished(() => {
    store.close();
    removeFolder(root);
  });
  const payload = join(root, "launchers/payload");
  cpSync(join(import.meta.dirname, "../../launchers/payload"), payload, { recursive: true });
  for (const name of ["known_hosts", "ssh_config"]) writeFileSync(join(root, name), "");
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "ssh",
    hosts: [{ host: "127.0.0.1", port: await closedPort(), user: "trainer" }],
    knownHosts: join(root, "known_hosts"),
    sshConfig: join(root, "ssh_config"),
    paths: { data: "/far/data", models: "/far/models", env: "/far/env", runs: "/far/runs" },
  });
  const record = (id: string, state: RunState, evidence: unknown = null): void => {
    const job = {
      kind: "train",
      runId: id,
      runFolder: `/far/runs/${id}`,
      manifest: { schemaVersion: 1, kind: "train", run: id },
      python: "/usr/bin/python3",
      payload,
      profile,
      diskBytes: 1,
      secrets: [],
      inputs: [],
      environment: null,
    };
    const proof = { kind: "train", steps: 4 };
    const rest = { profileName: "gpu1", resolved: null, git: null, forced: [] };
    const lock = { schemaVersion: 1, job, proof, ...rest };
    store.createRun({ id, kind: "train", name: "smoke", recipeDigest: null, lock });
    const answer = store.acquireLease(id, { owner: "test", milliseconds: 60_000 });
    if (answer.outcome !== "acquired") throw new Error("held");
    store.addAttempt(answer.lease);
    if (evidence !== null) store.updateAttempt(answer.lease, 1, { evidence });
    let from: RunState = "draft";
    for (const to of ["packaged", "submitting", state] as const) {
      store.transition(answer.lease, { from, to, reason: REASON });
      from = to;
    }
    store.releaseLease(answer.lease);
  };
  return { store, record, command: async (...words) => runUnderstudy(words, { cwd: root }) };
};

const SETTLE = "understudy run settle one --as failed --because TEXT";

describe("a run whose machine is away", { timeout: 120_000 }, () => {
  it("names settling in show, watch and resume when its answer was lost, and ends with 4", async () => {
    const { record, command } = await place();
    record("one", "ambiguous");
    expect((await command("run", "show", "one")).stdout).toContain(SETTLE);
    const once = await command("run", "watch", "--once");
    expect(once).toMatchObject({ exitCode: 4, stdout: expect.stringContaining(SETTLE) });
    const resumed = await command("run", "resume", "one");
    expect(resumed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(SETTLE) });
    const logs = await command("run", "logs", "one");
    expect(logs).toMatchObject({ exitCode: 4, stderr: expect.stringContaining("cannot be had") });
  });

  it("is tried at once when it waits to be sent, and who sent it hears that only a watcher tries again", async () => {
    const { store, record, command } = await place();
    const now = Date.now();
    const refused = { since: now, tries: 1, nextAt: now + 600_000, why: "unreachable", sentAgain: false };
    record("one", "waiting", { refused: { ...refused, reason: "the connection was lost" } });
    const resumed = await command("run", "resume", "one");
    expect(resumed.exitCode).toBe(4);
    expect(resumed.stdout).toContain("by whoever watches");
    expect(resumed.stdout).toMatch(
      /^next: .*only when somebody watches; watch it: understudy run watch one$/m,
    );
    expect(resumed.stdout.match(/ECONNREFUSED/g)).toHaveLength(1);
    expect(store.getRun("one").reason).toContain("tried 2 times");
    const once = await command("run", "watch", "--once");
    expect(once.exitCode).toBe(4);
    expect(store.getRun("one").reason).toContain("tried 3 times");
    const { stdout } = await command("run", "show", "one", "--fresh");
    expect(stdout.match(/ECONNREFUSED/g)).toHaveLength(1);
  });

  it("says who settled it and why, after a resume too", async () => {
    const { record, command } = await place();
    record("one", "ambiguous");
    await command("run", "settle", "one", "--as", "cancelled", "--because", "host away");
    const { stdout } = await command("run", "show", "one");
    expect(stdout).toContain("settled by hand as cancelled: host away");
    expect(stdout).not.toContain("not understood");
    await command("run", "resume", "one");
    const after = await command("run", "show", "one");
    expect(after.stdout).toMatch(/^ *settled +by hand as cancelled at \S+: host away$/m);
  });
});
