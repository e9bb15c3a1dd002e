import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { openStore, type Store } from "../../src/track/index.ts";
import { runIdOf } from "../../src/workflow/index.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeProject } from "../support/temporary-project.ts";
import { removeFolder } from "../support/remove-folder.ts";

const place = async (): Promise<{ root: string; state: string; store: Store }> => {
  const root = await makeProject();
  const { state } = projectAt(root);
  const store = openStore(join(state, "state.sqlite"), systemClock);
  onTestFinished(() => {
    store.close();
    removeFolder(root);
  });
  return { root, state, store };
};

const add = (store: Store, id: string, parentId?: string): void => {
  const kind = parentId === undefined ? "train" : "score";
  store.createRun({ id, kind, name: id, recipeDigest: null, lock: {}, ...(parentId && { parentId }) });
};

const complete = async (cwd: string, ...words: string[]): Promise<string[]> =>
  (await runUnderstudy(["--get-completions", ...words], { cwd })).stdout.split("\n").filter(Boolean);

describe("a run on the command line", () => {
  it("is named by its id or by as much of its beginning as tells it from others", async () => {
    const { store } = await place();
    for (const id of [
      "thinker-7b-k3f9ab",
      "thinker-7b-m2x4cd",
      "20260131-101500-run-ab12",
      "smoke",
      "smoke-2",
    ])
      add(store, id);
    expect(runIdOf(store, "thinker-7b-k3f9ab")).toBe("thinker-7b-k3f9ab");
    expect(runIdOf(store, "thinker-7b-k")).toBe("thinker-7b-k3f9ab");
    expect(runIdOf(store, "2026")).toBe("20260131-101500-run-ab12");
    // One that is the beginning of another is itself.
    expect(runIdOf(store, "smoke")).toBe("smoke");
    expect(() => runIdOf(store, "thinker-")).toThrow(
      expect.objectContaining({
        code: "RUN_AMBIGUOUS",
        hint: "write more of one of them: thinker-7b-m2x4cd, thinker-7b-k3f9ab",
      }),
    );
  });

  it("is not confused with the jobs of its own evaluation", async () => {
    const { store } = await place();
    add(store, "agent-k3f9ab");
    add(store, "agent-k3f9ab-infer-1", "agent-k3f9ab");
    add(store, "agent-k3f9ab-measure-1", "agent-k3f9ab-infer-1");
    expect(runIdOf(store, "agent-k")).toBe("agent-k3f9ab");
    expect(runIdOf(store, "agent-k3f9ab-m")).toBe("agent-k3f9ab-measure-1");
    expect(() => runIdOf(store, "agent-k3f9ab-")).toThrow(expect.objectContaining({ code: "RUN_AMBIGUOUS" }));
  });

  it("is asked for again when there is none, with what may have been meant", async () => {
    const { root, store } = await place();
    expect(() => runIdOf(store, "x")).toThrow(
      expect.objectContaining({
        code: "RUN_UNKNOWN",
        hint: expect.stringContaining("no run has been started"),
      }),
    );
    add(store, "smoke-k3f9ab");
    const { exitCode, stderr } = await runUnderstudy(["run", "show", "smoke-k3f9ac"], { cwd: root });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('There is no run "smoke-k3f9ac"; did you mean smoke-k3f9ab?');
    // What SQL would read as a pattern is a name like any other.
    for (const word of ["%", "_moke", "smoke*", "'"])
      expect(() => runIdOf(store, word)).toThrow(expect.objectContaining({ code: "RUN_UNKNOWN" }));
  });

  it.each([
    ["show"],
    ["logs"],
    ["stop"],
    ["resume"],
    ["watch"],
    ["settle", "--as", "failed", "--because", "x"],
  ])("is found by its beginning by run %s", async (verb, ...more) => {
    const { root, store } = await place();
    add(store, "one-aaaaaa");
    add(store, "one-bbbbbb");
    const { exitCode, stderr } = await runUnderstudy(["run", verb, "one", ...more], { cwd: root });
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("one-aaaaaa"),
    });
  });
});

describe("completion in a project", () => {
  it("offers runs, newest first, profiles, recipes and data sets", async () => {
    const { root, store } = await place();
    add(store, "smoke-k3f9ab");
    add(store, "agent-m2x4cd");
    for (const file of [
      "launchers/gpu1.yaml",
      "launchers/my-ssh.example.yaml",
      "recipes/agent.yaml",
      "datasets/d.yaml",
    ])
      writeFileSync(join(root, file), "");
    expect(await complete(root, "run", "show", "")).toEqual(["agent-m2x4cd", "smoke-k3f9ab"]);
    expect(await complete(root, "run", "logs", "sm")).toEqual(["smoke-k3f9ab"]);
    expect(await complete(root, "run", "watch", "smoke-k3f9ab", "a")).toEqual(["agent-m2x4cd"]);
    expect(await complete(root, "eval", "start", "")).toContain("smoke-k3f9ab");
    expect(await complete(root, "run", "start", "")).toEqual(["recipes/agent.yaml"]);
    expect(await complete(join(root, "recipes"), "run", "start", "")).toEqual(["agent.yaml"]);
    expect(await complete(root, "run", "start", "recipes/agent.yaml", "--on", "")).toEqual(["gpu1"]);
    expect(await complete(root, "run", "start", "--on", "gpu1", "")).toEqual(["recipes/agent.yaml"]);
    expect(await complete(root, "doctor", "--on", "g")).toEqual(["gpu1"]);
    expect(await complete(root, "dataset", "pack", "")).toEqual(["d"]);
  });

  it("makes nothing: no store where there is none, no project where there is none", async () => {
    const root = await makeProject();
    onTestFinished(() => removeFolder(root));
    expect(await complete(root, "run", "show", "")).toEqual([]);
    expect(existsSync(projectAt(root).state)).toBe(false);
    expect(await complete("/", "run", "show", "")).toEqual([]);
    expect(await complete("/", "run", "start", "--on", "")).toEqual([]);
  });

  it("says nothing about a store that it cannot read, and leaves it as it is", async () => {
    const root = await makeProject();
    onTestFinished(() => removeFolder(root));
    const { state } = projectAt(root);
    mkdirSync(state);
    writeFileSync(join(state, "state.sqlite"), "not a database");
    expect(await complete(root, "run", "show", "")).toEqual([]);
    expect(readdirSync(state)).toEqual(["state.sqlite"]);
    expect(readFileSync(join(state, "state.sqlite"), "utf8")).toBe("not a database");
  });
});
