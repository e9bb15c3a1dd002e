import { describe, expect, it } from "vitest";
import { statusOf, paramsOf, stateTags } from "../../src/workflow/mirror-facts.ts";
import { RUN_STATES, TERMINAL_STATES, type Run } from "../../src/track/index.ts";
import { resumed, mirrorStage, steps } from "./mirror-support.ts";

const stageWith = async () => mirrorStage("http://127.0.0.1:9", "x");

describe("what MLflow is told of a run", () => {
  it("is never that it runs, once it has ended, and only of success that it has finished", () => {
    for (const state of RUN_STATES) {
      const { status, endTime } = statusOf({ state, updatedAt: "2026-01-31T10:00:00Z" }, []);
      const isOver = TERMINAL_STATES.includes(state);
      expect(["FINISHED", "FAILED", "KILLED"].includes(status), state).toBe(isOver);
      expect(endTime === null, state).toBe(!isOver);
      expect(status === "FINISHED", state).toBe(state === "succeeded");
    }
  });

  it("names what it was trained from by digests, and no path or host", async () => {
    const { start, shop } = await stageWith();
    await start("r");
    const run = shop.store.getRun("r");
    const lock = structuredClone(run.lock);
    if (typeof lock !== "object" || lock === null) throw new Error("no lock");
    const withRecipe: Run = { ...run, recipeDigest: "d1", lock: { ...lock, resolved } };
    const params = Object.fromEntries(paramsOf(withRecipe).map(({ key, value }) => [key, value]));
    expect(params).toMatchObject({
      recipe: "scripted",
      "recipe.digest": "d1",
      model: "Qwen/Qwen2.5-Omni-7B",
      "model.revision": "tiny",
      dataset: "roles",
      "dataset.lock_digest": "d2",
      "plan.steps": "40",
      "training.learningRate": "0.0001",
      "training.lora.rank": "64",
      "training.seed": "7",
    });
    expect(JSON.stringify(params)).not.toMatch(/"\/|far|login/);
    expect(paramsOf(run).map(({ key }) => key)).toEqual(["recipe", "model.revision"]);
  });

  it("counts the steps that were done again, attempt by attempt", async () => {
    const { start, say, endAttempt, become, shop } = await stageWith();
    await start("r");
    become("r", "running");
    say("r", ...steps(1, 1, 17));
    endAttempt("r", "node_lost");
    say("r", resumed(2, 15), ...steps(2, 16, 20));
    endAttempt("r", "preempted");
    say("r", ...steps(3, 1, 4));
    const tags = stateTags(shop.store, shop.store.getRun("r"), shop.store.attempts("r"));
    const of = (key: string): string | undefined => tags.find((tag) => tag.key === key)?.value;
    expect(of("understudy.steps_repeated")).toBe("6");
    expect(of("understudy.attempt.2")).toContain("went on from step 15, 2 steps of it again");
    expect(of("understudy.attempt.3")).toContain("went on from step 0, 4 steps of it again");
    expect(of("understudy.attempt.1")).toContain("node_lost: ");
  });
});

const resolved = {
  schemaVersion: 1,
  recipe: {
    schemaVersion: 1,
    name: "scripted",
    description: "For a test",
    dataset: { name: "roles", trainOn: ["train"] },
    model: { kind: "hub", id: "Qwen/Qwen2.5-Omni-7B", revision: "abc" },
    prompt: { preamble: "You speak" },
    training: {
      mode: "lora",
      precision: "bf16",
      learningRate: 1e-4,
      schedule: "cosine",
      warmupFraction: 0.03,
      weightDecay: 0,
      maxGradNorm: 1,
      duration: { epochs: 3 },
      globalBatch: 32,
      microBatch: 1,
      maxTokens: 4096,
      gradientCheckpointing: true,
      lora: { rank: 64, alpha: 128, dropout: 0 },
      zero: 0,
      dataLoaderWorkers: 2,
      seed: 7,
    },
    evaluation: {
      everySteps: 10,
      logEverySteps: 1,
      suites: ["test/seen"],
      decoding: {
        maxNewTokens: 9,
        talkerMaxNewTokens: 9,
        temperature: 0,
        token2wavSteps: 10,
        batch: 1,
        seed: 1,
      },
      speaker: "Ethan",
      scoreBatch: 1,
    },
  },
  plan: { trainRows: 9, stepsPerEpoch: 9, steps: 40, epochs: 3, evaluations: 4, rowsExpected: false },
  datasetLockDigest: "d2",
  payloadDigest: "d3",
  trainingRoles: ["r1"],
};
