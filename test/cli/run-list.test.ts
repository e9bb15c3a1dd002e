import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runUnderstudy as runProgram, type Sink } from "../../src/cli/index.ts";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { LauncherProfile } from "../../src/launch/index.ts";
import { openStore, type Store } from "../../src/track/index.ts";
import { textWidth } from "../../src/cli/text-width.ts";
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

/** A run that failed, started although a check had failed. */
const failed = ({ root, store }: Place, id: string): void => {
  const job = {
    kind: "train",
    runId: id,
    runFolder: join(root, id),
    manifest: {},
    python: "python3",
    payload: root,
    profile: LauncherProfile.parse({ schemaVersion: 1, kind: "local" }),
    diskBytes: 1,
    secrets: [],
  };
  const proof = { kind: "train", steps: 4 };
  const forced = ["disk: 40 GB free, 381 GB needed"];
  const lock = { schemaVersion: 1, job, proof, profileName: "local", resolved: null, git: null, forced };
  store.createRun({ id, kind: "train", name: "thinker-lora", recipeDigest: null, lock });
  const answer = store.acquireLease(id, { owner: "test", milliseconds: 60_000 });
  if (answer.outcome !== "acquired") throw new Error("held");
  const reason = "the program failed (exit 1): CUDA error: an illegal memory access was encountered";
  store.transition(answer.lease, { from: "draft", to: "failed", reason });
  store.releaseLease(answer.lease);
};

interface Screen {
  readonly width: number;
  readonly environment?: Readonly<Record<string, string>>;
}

const inTerminal = async ({ root }: Place, screen: Screen, ...words: string[]): Promise<string> => {
  let text = "";
  const sink: Sink = { write: (piece) => void (text += piece), isTerminal: true, width: screen.width };
  await runProgram(words, {
    cwd: root,
    environment: screen.environment ?? {},
    stdout: sink,
    stderr: { ...sink, write: () => undefined },
    clock: systemClock,
    fetch: () => Promise.reject(new Error("no network")),
    program: "npx understudy",
    signal: new AbortController().signal,
  });
  return text;
};

describe("run list and run show in a terminal", () => {
  it("say what to do when there is nothing yet, as this person has to type it", async () => {
    const at = await place();
    expect(await inTerminal(at, { width: 80 }, "run", "list")).toBe(
      "no runs yet; start one: npx understudy run start recipes/quickstart.yaml\n",
    );
    at.store.createRun({
      id: "a-score-1",
      kind: "score",
      name: "a",
      recipeDigest: null,
      lock: {},
      parentId: "a",
    });
    expect(await inTerminal(at, { width: 80 }, "run", "list", "--offline")).toContain("run list --all");
  });

  it.each([60, 80, 120])("fit into %i columns", async (width) => {
    const at = await place();
    failed(at, "thinker-lora-7b-k3f9ab");
    for (const words of [
      ["run", "list"],
      ["run", "list", "--all"],
      ["run", "show", "thinker"],
    ]) {
      const lines = (await inTerminal(at, { width }, ...words)).split("\n");
      // A path stays whole, so that it can be copied; the first line of run show is a sentence of the far side's words.
      const wide = lines.filter((line) => textWidth(line) > width && !/^run thinker|\/\S{20,}/.test(line));
      expect(wide).toEqual([]);
    }
  });

  it("use no colours where NO_COLOR asks for none", async () => {
    const at = await place();
    failed(at, "thinker-lora-7b-k3f9ab");
    const escape = "\u001b";
    expect(await inTerminal(at, { width: 80 }, "run", "list")).toContain(escape);
    const plain = await inTerminal(at, { width: 80, environment: { NO_COLOR: "1" } }, "run", "list");
    expect(plain).not.toContain(escape);
  });

  it("show which checks were overruled, and every budget by itself", async () => {
    const at = await place();
    failed(at, "thinker-lora-7b-k3f9ab");
    const text = await inTerminal(
      at,
      { width: 120, environment: { NO_COLOR: "1" } },
      "run",
      "show",
      "thinker",
    );
    expect(text).toMatch(/^ {2}forced +started although disk: 40 GB free, 381 GB needed \(--force\)$/m);
    for (const budget of ["preemption", "infra", "timeout", "capacity"])
      expect(text).toMatch(new RegExp(`^${budget} +0(\\.0 days)? +\\d+`, "m"));
    expect(text).toContain("is not started again without a person");
  });

  it("give scripts the same keys whatever there is to tell", async () => {
    const at = await place();
    failed(at, "thinker-lora-7b-k3f9ab");
    const [run]: object[] = JSON.parse(await inTerminal(at, { width: 80 }, "run", "list", "--json"));
    expect(Object.keys(run ?? {}).toSorted()).toEqual(
      [
        [
          "attempts",
          "budgets",
          "createdAt",
          "id",
          "kind",
          "lastSeenAt",
          "name",
          "next",
          "nextTryAt",
          "parentId",
        ],
        [
          "pipelineId",
          "reason",
          "recipeDigest",
          "shortfall",
          "staleSince",
          "state",
          "stopNow",
          "stopRequested",
        ],
        ["trouble", "unavailable", "updatedAt", "warning"],
      ].flat(),
    );
  });
});
