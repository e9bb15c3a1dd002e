import { afterAll, beforeAll, expect, it } from "vitest";
import { look } from "../real/mlflow/look.ts";
import { startProxy, type MlflowProxy } from "../real/mlflow/proxy.ts";
import { mlflowSuite, startMlflow, type MlflowServer } from "../real/mlflow/server.ts";
import { ended, result, save, say } from "./scripted.ts";
import { newWatcher } from "../../src/workflow/watch-groups.ts";
import { watchPass } from "../../src/workflow/watch.ts";
import { mirrorState } from "../../src/workflow/index.ts";
import { startRun } from "../../src/workflow/runs.ts";
import { checkpoint, evaluated, mirrorStage, range, resumed, steps } from "./mirror-support.ts";

await mlflowSuite("the copy of runs in MLflow", "now", (python) => {
  let server: MlflowServer;
  let proxy: MlflowProxy;
  beforeAll(async () => {
    server = await startMlflow(python);
    proxy = await startProxy(server.url);
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });
  let number = 0;
  /** An experiment of its own for each test. */
  const fresh = async (secrets = {}) => {
    proxy.heal();
    const experiment = `experiment-${++number}`;
    return { experiment, ...(await mirrorStage(proxy.url, experiment, secrets)) };
  };
  const only = async (experiment: string) => {
    const runs = await look(server.url).runs(experiment);
    expect(runs).toHaveLength(1);
    const [run] = runs;
    if (run === undefined) throw new Error("no run");
    return run;
  };
  const stepsOf = async (id: string, key: string): Promise<number[]> =>
    (await look(server.url).history(id, key)).map(([step]) => step);

  it("is one run over three attempts, made by who watches, with each step once and its true value", async () => {
    const { experiment, stage, shop: base, mirror } = await fresh();
    const { far, clock, job } = stage;
    const shop = { ...base, mirror: await mirror() };
    await startRun(shop, job("r"));
    const marker = (): string => shop.store.attempts("r").at(-1)?.marker ?? "";
    const watcher = newWatcher();
    const pass = async (): Promise<void> => {
      clock.forward(600_000);
      await watchPass(shop, watcher, { once: true });
    };
    for (const attempt of [1, 2, 3]) {
      say(far, "r", { attempt, type: "started", host: "n1" });
      if (attempt > 1) say(far, "r", resumed(attempt, attempt - 1));
      for (const line of steps(attempt, attempt, attempt + 1)) say(far, "r", line);
      if (attempt < 3) {
        save(far, "r", attempt, attempt);
        await pass();
        far.sights.set(marker(), ended("preempted", null));
        await pass();
        await pass();
      }
    }
    save(far, "r", 4, 3);
    say(far, "r", { attempt: 3, type: "finished", step: 4 });
    far.sights.set(marker(), ended("completed", result(marker())));
    await pass();
    expect(shop.store.getRun("r").state).toBe("succeeded");
    await shop.mirror.close();
    const { id, status, tags } = await only(experiment);
    expect(status).toBe("FINISHED");
    expect(await look(server.url).history(id, "train/loss")).toEqual([
      [1, 1.001],
      [2, 2.002],
      [3, 3.003],
      [4, 3.004],
    ]);
    expect(await look(server.url).history(id, "live/loss")).toEqual([
      [1, 1.001],
      [2, 1.002],
      [3, 2.003],
      [4, 3.004],
    ]);
    expect(tags).toMatchObject({
      "mlflow.runName": "r",
      "understudy.run_id": "r",
      "understudy.state": "succeeded",
      "understudy.attempts": "3",
      "understudy.launcher": "slurm",
      "understudy.steps_repeated": "2",
    });
    expect(tags["understudy.attempt.2"]).toContain("went on from step 1");
    expect(mirrorState(shop.store, "r")).toMatchObject({ isBehind: false, words: "up to date" });
    expect(mirrorState(shop.store, "r")?.link).toContain(`/runs/${id}`);
  });

  it("goes on where it was when the server comes back, though the run has ended and the program too", async () => {
    const { experiment, start, say: write, become, endAttempt, copy, shop, said, key } = await fresh();
    await start("r");
    become("r", "running");
    write("r", ...steps(1, 1, 3), checkpoint(1, 3), ...steps(1, 4, 6));
    await copy();
    const before = await only(experiment);
    expect(before.status).toBe("RUNNING");
    await server.stop();
    write("r", ...steps(1, 7, 8));
    await copy();
    expect(said.join("\n")).toMatch(/does not answer.*what is missing there is sent later/);
    endAttempt("r", "preempted");
    write("r", resumed(2, 3), ...steps(2, 4, 9), evaluated(2, 9), checkpoint(2, 9));
    endAttempt("r", "cancelled", false);
    become("r", "cancelling", "cancelled");
    await copy();
    expect(shop.store.mirrors.behind(key)).toEqual(["r"]);
    expect(mirrorState(shop.store, "r")?.words).toMatch(/^behind since .*does not answer/);
    await server.start();
    await copy();
    expect(shop.store.mirrors.behind(key)).toEqual([]);
    const after = await only(experiment);
    expect(after).toMatchObject({ id: before.id, status: "KILLED" });
    expect(await stepsOf(after.id, "train/loss")).toEqual(range(1, 9));
    expect(await stepsOf(after.id, "live/loss")).toEqual(range(1, 9));
    expect(await look(server.url).history(after.id, "eval/loss")).toEqual([[9, 2]]);
    expect((await look(server.url).history(after.id, "train/loss"))[3]).toEqual([4, 2.004]);
    expect(mirrorState(shop.store, "r")?.words).toBe("up to date");
  }, 120_000);

  it.each([
    ["failed", "FAILED"],
    ["timed_out", "FAILED"],
    ["lost", "FAILED"],
    ["cancelled", "KILLED"],
  ] as const)("says of a run that is %s that it is %s, and goes on when it does", async (state, status) => {
    const { experiment, start, become, endAttempt, copy, shop } = await fresh();
    await start("r");
    become("r", "running");
    await copy();
    endAttempt("r", "crashed", false);
    become("r", state);
    await copy();
    const over = await only(experiment);
    expect(over.status).toBe(status);
    expect(over.tags["understudy.state"]).toBe(state);
    become("r", "submitting", "queued");
    await copy();
    expect((await only(experiment)).status).toBe("SCHEDULED");
    expect(shop.store.getRun("r").state).toBe("queued");
  });

  it("takes NaN, infinities, and thousands of points at once", async () => {
    const { experiment, start, say: write, copy } = await fresh();
    await start("r");
    const odd = ["NaN", "Infinity", "-Infinity"].map((loss, at) => ({
      attempt: 1,
      type: "step",
      step: at + 1,
      loss,
    }));
    write("r", ...odd, ...steps(1, 4, 1300), checkpoint(1, 1300));
    await copy();
    const { id } = await only(experiment);
    const losses = await look(server.url).history(id, "train/loss");
    expect(losses.map(([step]) => step)).toEqual(range(1, 1300));
    expect(losses[0]).toEqual([1, "NaN"]);
    expect(Number(losses[1]?.[1])).toBeGreaterThan(1e300);
    expect(proxy.seen.filter(({ path }) => path.includes("log-batch")).length).toBeGreaterThan(3);
  });

  it("takes no copy of runs that are no training", async () => {
    const { stage, shop, mirror, key } = await fresh();
    const opened = await mirror();
    await startRun(
      { ...shop, mirror: opened },
      stage.job("s", { job: { ...stage.job("s").job, kind: "score" } }),
    );
    await opened.close();
    expect(shop.store.mirrors.find("s", key)).toBeUndefined();
  });
});
