import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listCheckpoints } from "../../src/checkpoint/index.ts";
import { testPython } from "../support/python.ts";
import { Pipeline } from "./pipeline.ts";
import { buildProgram, moment, sha256, sharedEnvironments, type Program } from "./program.ts";
import { headlineNumbers, reportedNumbers } from "./recompute.ts";

const MINUTES = 60_000;

/** What must be equal, whatever happened on the way. Only latencies and the run's name may differ. */
const outcome = async (pipeline: Pipeline): Promise<Record<string, unknown>> => {
  const run = pipeline.training;
  if (run === undefined) throw new Error("there is no training run");
  const checkpoints = await listCheckpoints(pipeline.project, run.id);
  const rows = pipeline.doneTasks().map((folder) => {
    const name = basename(folder);
    const kind = name.split("-")[0];
    const file =
      { score: "scores.jsonl", infer: "answers.jsonl", measure: "measures.jsonl" }[kind ?? ""] ?? "";
    const text = readFileSync(join(folder, file), "utf8").replaceAll(/"latencySeconds": ?[0-9.e-]+/g, "");
    return [name, sha256(text)];
  });
  return {
    lock: sha256(readFileSync(join(pipeline.project.datasets, "greenroom.lock.json"))),
    weights: checkpoints.map(({ step, weightsDigest, metrics }) => [step, weightsDigest, metrics]),
    rows,
    report: pipeline.report(run).replaceAll(run.id, "RUN"),
  };
};

describe.skipIf(testPython() === undefined)("the whole pipeline", () => {
  let program: ReturnType<typeof buildProgram>;
  let reference: Pipeline;
  let interrupted: Pipeline;
  let uninterrupted: Program;
  beforeAll(async () => {
    program = buildProgram();
    const environments = await sharedEnvironments();
    reference = new Pipeline(program.main, environments);
    interrupted = new Pipeline(program.main, environments);
    uninterrupted = reference.start();
  }, 20 * MINUTES);
  afterAll(async () => {
    await reference.remove();
    await interrupted.remove();
    program.remove();
  });

  it(
    "goes on after every kind of interruption, and does nothing twice",
    { timeout: 15 * MINUTES },
    async () => {
      const pipeline = interrupted;
      const finished = new Map<string, string>();
      const remember = (): void => {
        for (const [path, identity] of pipeline.finishedFiles()) {
          expect(finished.get(path) ?? identity).toBe(identity);
          finished.set(path, identity);
        }
      };
      const kill = async (running: Program, what: "alone" | "with its job"): Promise<void> => {
        running.child.kill("SIGKILL");
        expect(await running.ended).toBe("SIGKILL");
        if (what === "with its job") await pipeline.killJobs();
        remember();
      };
      /** Starts it, waits for the moment, kills it. */
      const killAt = async (
        what: "alone" | "with its job",
        words: string,
        arrived: () => boolean,
      ): Promise<void> => {
        const running = pipeline.start();
        await moment(words, arrived, running);
        await kill(running, what);
      };
      await killAt("alone", "the data set is packed", () => pipeline.packed());
      await killAt("alone", "the model is made", () => pipeline.models().length > 0);
      await killAt("alone", "the run is recorded", () => pipeline.training !== undefined);

      const watched = pipeline.start();
      await moment("two steps are done", () => pipeline.steps() >= 2, watched);
      await pipeline.signalTrainer("SIGSTOP");
      const second = pipeline.start();
      expect(await second.ended).toBe(2);
      expect(second.text()).toContain("A quickstart is running already");
      watched.child.kill("SIGINT");
      expect(await watched.ended).toBe(130);
      expect((await pipeline.trainers()).length).toBeGreaterThan(0);
      expect(pipeline.training?.state).toBe("running");

      await killAt("alone", "the running job is adopted", () => pipeline.training !== undefined);
      expect(pipeline.attempts()).toBe(1);
      const adopting = pipeline.start();
      await pipeline.signalTrainer("SIGCONT");
      await moment("two steps after a checkpoint", () => pipeline.steps() >= 6, adopting);
      await kill(adopting, "with its job");
      await killAt("with its job", "a checkpoint is half written", () =>
        pipeline.checkpoints().some(({ step, complete }) => step > 4 && !complete),
      );
      await killAt("alone", "training has succeeded", () => pipeline.training?.state === "succeeded");
      await killAt("alone", "something is scored", () => pipeline.doneTasks("score").length > 0);
      await killAt("with its job", "something is answered", () => pipeline.doneTasks("infer").length > 0);
      await killAt("with its job", "measuring has begun", () => pipeline.runs("measure").length > 0);
      await killAt("alone", "everything is measured", () =>
        pipeline.runs("measure").some(({ state }) => state === "succeeded"),
      );
      const last = pipeline.start();
      expect(await last.ended, last.text()).toBe(0);
      remember();

      for (const kind of ["train", "score", "infer", "measure"] as const) {
        expect(pipeline.runs(kind).map(({ state }) => state)).toEqual(["succeeded"]);
      }
      const { id } = pipeline.training ?? { id: "" };
      expect(pipeline.store.attempts(id).map(({ reason }) => reason)).toEqual([
        "node_lost",
        "node_lost",
        "succeeded",
      ]);
      // Each attempt goes on exactly behind the newest checkpoint that was complete by then.
      const events = pipeline.events();
      for (const attempt of [2, 3]) {
        const before = events.filter((event) => event.type === "checkpoint" && event.attempt < attempt);
        const newest = Math.max(...before.map(({ step }) => step));
        const own = events.filter((event) => event.attempt === attempt);
        expect(own.find(({ type }) => type === "resumed")?.step).toBe(newest);
        expect(own.find(({ type }) => type === "step")?.step).toBe(newest + 1);
      }
      expect(events.filter(({ type }) => type === "checkpoint").map(({ step }) => step)).toEqual([4, 8, 12]);
    },
  );

  it(
    "ends with the same data, weights, rows and report as without interruption",
    { timeout: 15 * MINUTES },
    async () => {
      expect(await uninterrupted.ended, uninterrupted.text()).toBe(0);
      expect(uninterrupted.text()).toContain("report: ");
      const expected = await outcome(reference);
      expect(expected["weights"]).toHaveLength(3);
      expect(await outcome(interrupted)).toEqual(expected);
    },
  );

  it("every number in the report can be traced: the headline ones are computed anew from the rows", async () => {
    const run = reference.training;
    if (run === undefined) throw new Error("there is no training run");
    const computed = headlineNumbers(reference);
    const reported = reportedNumbers(reference.report(run));
    expect(computed.size).toBeGreaterThanOrEqual(7);
    for (const [key, numbers] of computed) {
      const printed = reported.get(key);
      expect(printed, key).toBeDefined();
      for (const [index, number] of numbers.entries()) {
        expect(printed?.[index], `${key} (${["estimate", "lower", "upper"][index]})`).toBeCloseTo(number, 8);
      }
    }
  });

  it(
    "a later run with another recipe does the base model's rows no second time",
    { timeout: 10 * MINUTES },
    async () => {
      const before = reference.finishedFiles();
      const later = reference.start("later");
      expect(await later.ended, later.text()).toBe(0);
      const after = reference.finishedFiles();
      for (const [path, identity] of before) expect(after.get(path)).toBe(identity);
      expect(reference.runs("train").map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
      const [first, second] = reference.runs("infer").map(({ id }) => reference.taskSystems(id));
      expect(first).toContain("base");
      expect(second).not.toContain("base");
      expect(second?.length).toBeGreaterThan(0);
    },
  );
});
