import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packDataset } from "../../src/dataset/index.ts";
import { TERMINAL_STATES } from "../../src/track/index.ts";
import { evaluateRun, followToSuccess, lockOf, startRun } from "../../src/workflow/index.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { summariesOf } from "../../src/workflow/watch-summary.ts";
import { expectedTurns, makeDataStage, packOnce, prepared, trained } from "./data-stage.ts";
import { until, type Stage } from "./support.ts";

packOnce();

const RUN = "20260131-101500-first-ab12";
const OTHER = "20260131-101500-other-cd34";

const taskFolders = (stage: Stage, kind: string): string[] =>
  readdirSync(join(stage.project.state, "evaluations"))
    .filter((name) => name.startsWith(`${kind}-`))
    .map((name) => join(stage.project.state, "evaluations", name))
    .toSorted();

const worked = (stage: Stage, kind?: string): string[] =>
  stage.log("tasks.log").filter((line) => kind === undefined || line.startsWith(`${kind} `));

const identity = (path: string): string => {
  const { ino, mtimeMs } = statSync(path);
  return `${ino} ${mtimeMs}`;
};

const states = (shop: Shop): string[] =>
  shop.store
    .listRuns()
    .map(({ id, state }) => `${id} ${state}`)
    .toSorted();

describe("evaluateRun", { timeout: 300_000 }, () => {
  it("does every task once, and nothing the second time", async () => {
    const stage = await makeDataStage();
    stage.behave({ train: { rising: true } });
    const shop = await stage.shop();
    await trained(shop, RUN);
    const evaluation = await evaluateRun(shop, RUN);
    expect(evaluation.systems.map(({ id, step }) => [id, step])).toEqual([
      ["base", null],
      ["lowest-dev-loss", 2],
      ["last", 4],
    ]);
    expect(evaluation.results).toHaveLength(6);
    const rows = evaluation.results.map(({ scores, expected }) => [scores.length, expected.length]);
    expect(rows.every(([scored, expected]) => scored === expected && expected !== 0)).toBe(true);
    expect(rows.reduce((sum, [scored = 0]) => sum + scored, 0)).toBe(3 * expectedTurns());
    for (const kind of ["score", "infer", "measure"]) expect(worked(stage, kind)).toHaveLength(6);
    const starts = stage.log("starts.log");
    expect(starts).toHaveLength(4);
    // What is shown while a job works is that job, not the work before it.
    const shown = stage.said.flatMap((one) => (one.type === "detail" ? [one.text] : []));
    expect(shown).toContainEqual(expect.stringMatching(`^${RUN}-infer-1 is `));
    expect(JSON.stringify(stage.said)).not.toContain("were there already");
    expect(await evaluateRun(shop, RUN)).toEqual(evaluation);
    const all = 3 * 3 * expectedTurns();
    const text = `all ${all} rows were there already (from an earlier evaluation of this run): nothing is done again`;
    expect(stage.said).toContainEqual({ type: "note", text });
    const [summary] = await summariesOf(shop, [RUN]);
    expect(summary?.next).toMatch(/^its evaluation was begun and has no report yet/);
    expect(stage.log("starts.log")).toEqual(starts);
    expect(states(shop)).toEqual([
      `${RUN} succeeded`,
      `${RUN}-infer-1 succeeded`,
      `${RUN}-measure-1 succeeded`,
      `${RUN}-score-1 succeeded`,
    ]);
    await expect(evaluateRun(shop, `${RUN}-score-1`)).rejects.toMatchObject({ code: "RUN_NOT_TRAINED" });
  });

  it("equal weights under two names share their folders, and their rows are the same", async () => {
    const stage = await makeDataStage();
    stage.behave({ train: { rising: true, weights: 1 } });
    const shop = await stage.shop();
    await trained(shop, RUN);
    const { systems, results } = await evaluateRun(shop, RUN);
    expect(systems.map(({ checkpoint }) => checkpoint?.split("/").at(-1))).toEqual([
      undefined,
      "checkpoint-2",
      "checkpoint-4",
    ]);
    expect(systems[1]?.weightsDigest).toBe(systems[2]?.weightsDigest);
    expect(taskFolders(stage, "score")).toHaveLength(4);
    expect(worked(stage, "score")).toHaveLength(4);
    // One piece of work, not two of which the second is skipped.
    const { proof } = lockOf(shop.store.getRun(`${RUN}-score-1`));
    expect(proof).toMatchObject({ tasks: { length: 4 } });
    const [, , seen, unseen, seenToo, unseenToo] = results;
    expect([seenToo?.scores, unseenToo?.scores]).toEqual([seen?.scores, unseen?.scores]);
  });

  it("finds changed and missing rows, keeps what was changed, and does only those again", async () => {
    const stage = await makeDataStage();
    const shop = await stage.shop();
    await trained(shop, RUN);
    const evaluation = await evaluateRun(shop, RUN);
    const [changed = "", missing = "", ...kept] = taskFolders(stage, "score");
    const before = kept.map((folder) => identity(join(folder, "_DONE.json")));
    const original = readFileSync(join(changed, "scores.jsonl"), "utf8");
    appendFileSync(join(changed, "scores.jsonl"), original.split("\n")[0] ?? "");
    rmSync(missing, { recursive: true });
    const done = worked(stage).length;
    expect(await evaluateRun(shop, RUN)).toEqual(evaluation);
    expect(worked(stage).slice(done).toSorted()).toEqual([`score ${changed}`, `score ${missing}`]);
    expect(kept.map((folder) => identity(join(folder, "_DONE.json")))).toEqual(before);
    expect(readFileSync(join(changed, "scores.jsonl"), "utf8")).toBe(original);
    expect(readFileSync(join(`${changed}.changed-1`, "scores.jsonl"), "utf8")).not.toBe(original);
    expect(JSON.stringify(stage.said)).toContain("changed after it was finished");
    expect(shop.store.getRun(`${RUN}-score-2`).state).toBe("succeeded");
  });

  it("goes on after the finished tasks when the job is killed", async () => {
    const stage = await makeDataStage();
    stage.behave({ score: { killAt: "task-2" } });
    const shop = await stage.shop();
    await trained(shop, RUN);
    await evaluateRun(shop, RUN);
    expect(shop.store.attempts(`${RUN}-score-1`).map(({ reason }) => reason)).toEqual([
      "killed",
      "succeeded",
    ]);
    const folders = worked(stage, "score");
    expect(new Set(folders).size).toBe(folders.length);
  });

  it("too few rows are no success, and the same call does them again", async () => {
    const stage = await makeDataStage();
    stage.behave({ infer: { rows: 3 } });
    const shop = await stage.shop();
    await trained(shop, RUN);
    await expect(evaluateRun(shop, RUN)).rejects.toMatchObject({ code: "RUN_FAILED" });
    const short = shop.store.getRun(`${RUN}-infer-1`);
    expect(short).toMatchObject({ state: "failed", reason: expect.stringContaining("has 3 rows") });
    expect(shop.store.attempts(short.id).at(-1)?.reason).toBe("no_proof");
    stage.behave({});
    const { results } = await evaluateRun(shop, RUN);
    expect(results.every(({ answers, expected }) => answers.length === expected.length)).toBe(true);
    expect(shop.store.getRun(short.id).state).toBe("succeeded");
  });

  it("an interrupted evaluation goes on with the job that is still running", async () => {
    const stage = await makeDataStage();
    stage.behave({ score: { waitAt: "task-1" } });
    const aborting = new AbortController();
    const first = await stage.shop({ signal: aborting.signal });
    await trained(first, RUN);
    const evaluating = evaluateRun(first, RUN);
    await until(() => (worked(stage, "score").length === 1 ? true : undefined));
    aborting.abort(new Error("Ctrl-C"));
    await expect(evaluating).rejects.toThrow();
    const shop = await stage.shop();
    expect(TERMINAL_STATES).not.toContain(shop.store.getRun(`${RUN}-score-1`).state);
    stage.go();
    await evaluateRun(shop, RUN);
    expect(stage.log("starts.log").filter((line) => line.includes("-score-"))).toEqual([`${RUN}-score-1 1`]);
  });

  it("records the end of a job that finished everything while nobody looked", async () => {
    const stage = await makeDataStage();
    stage.behave({ score: { waitAt: "end" } });
    const aborting = new AbortController();
    const first = await stage.shop({ signal: aborting.signal });
    await trained(first, RUN);
    const evaluating = evaluateRun(first, RUN);
    await until(() => (worked(stage, "score").length === 4 ? true : undefined));
    aborting.abort(new Error("Ctrl-C"));
    await expect(evaluating).rejects.toThrow();
    stage.go();
    const shop = await stage.shop();
    await evaluateRun(shop, RUN);
    expect(shop.store.getRun(`${RUN}-score-1`).state).toBe("succeeded");
    expect(stage.log("starts.log").filter((line) => line.includes("-score-"))).toEqual([`${RUN}-score-1 1`]);
  });

  it("waits for another run's job that writes the same base rows, and takes them over", async () => {
    const stage = await makeDataStage();
    stage.behave({ score: { waitAt: "task-1" } });
    const aborting = new AbortController();
    const first = await stage.shop({ signal: aborting.signal });
    await trained(first, RUN);
    await trained(first, OTHER, ["training.seed=8"]);
    const evaluating = evaluateRun(first, RUN);
    await until(() => (worked(stage, "score").length === 1 ? true : undefined));
    aborting.abort(new Error("Ctrl-C"));
    await expect(evaluating).rejects.toThrow();
    const shop = await stage.shop();
    const seen = (): string | null => shop.store.getRun(`${RUN}-score-1`).lastSeenAt;
    const before = seen();
    const other = evaluateRun(shop, OTHER);
    // It looks after the other run meanwhile; nothing is started beside it.
    await until(() => (seen() === before ? undefined : true));
    expect(stage.log("starts.log").filter((line) => line.includes("-score-"))).toEqual([`${RUN}-score-1 1`]);
    stage.go();
    await other;
    const folders = worked(stage, "score");
    expect(new Set(folders).size).toBe(folders.length);
    expect(shop.store.getRun(`${RUN}-score-1`).state).toBe("succeeded");
  });

  it("refuses data that was divided anew since the training", async () => {
    const stage = await makeDataStage();
    const shop = await stage.shop();
    await trained(shop, RUN);
    const spec = join(stage.project.datasets, "greenroom.yaml");
    writeFileSync(spec, readFileSync(spec, "utf8").replace("seed: 20", "seed: 21"));
    await packDataset({ project: stage.project, name: "greenroom" });
    await expect(evaluateRun(shop, RUN)).rejects.toMatchObject({ code: "DATASET_CHANGED" });
    expect(worked(stage)).toEqual([]);
  });

  it("files rows under the code that wrote them, and training goes on with the code it began with", async () => {
    const stage = await makeDataStage();
    stage.behave({ train: { killAt: 3 } });
    const shop = await stage.shop();
    const ready = await prepared(shop, RUN);
    const code = join(stage.project.launchers, "payload/understudy_payload/__main__.py");
    const original = readFileSync(code, "utf8");
    const { job, resolution } = ready;
    await startRun(shop, {
      job,
      proof: { kind: "train", steps: 4 },
      profileName: "local",
      training: ready,
      name: "first",
    });
    writeFileSync(code, `${original}\n# edited while it trains\n`);
    await followToSuccess(shop, RUN);
    await evaluateRun(shop, RUN);
    expect(readFileSync(join(job.payload, "understudy_payload/__main__.py"), "utf8")).toBe(original);
    const digests = readdirSync(join(stage.project.state, "payloads")).filter((name) => !name.includes("."));
    expect(digests).toHaveLength(2);
    expect(digests).toContain(resolution.resolved.payloadDigest.slice(0, 16));
    const manifests = shop.store.listRuns({ kind: "score" }).map(({ lock }) => JSON.stringify(lock));
    expect(manifests[0]).not.toContain(job.payload);
    // The first code again: its rows are others than those of the edited code, whatever they say.
    const edited = taskFolders(stage, "score");
    writeFileSync(code, original);
    await evaluateRun(shop, RUN);
    expect(taskFolders(stage, "score")).toHaveLength(2 * edited.length);
  });
});
