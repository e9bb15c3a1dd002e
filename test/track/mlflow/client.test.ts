import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import {
  ensureRun,
  mlflowClient,
  sendParams,
  sendPoints,
  sendTags,
  type Mlflow,
} from "../../../src/track/index.ts";
import type { MlflowTarget } from "../../../src/track/index.ts";
import { freePorts } from "../../real/slurm/lab.ts";
import { look } from "../../real/mlflow/look.ts";
import { mlflowSuite, startMlflow, type MlflowServer } from "../../real/mlflow/server.ts";

const targetAt = (uri: string, experiment: string): MlflowTarget => ({
  uri,
  experiment,
  key: `${uri}#${experiment}`,
  authorization: null,
  mask: (text) => text,
});

for (const { age, keeps, version, longest } of [
  { age: "now", keeps: "sqlite", version: "3.17.2", longest: 6000 },
  { age: "old", keeps: "sqlite", version: "2.3.2", longest: 500 },
  { age: "old", keeps: "files", version: "2.3.2", longest: 500 },
] as const) {
  await mlflowSuite(`our calls and MLflow ${version} over ${keeps}`, age, (python) => {
    let server: MlflowServer;
    beforeAll(async () => void (server = await startMlflow(python, keeps)));
    afterAll(async () => server.close());
    const open = (experiment: string = randomUUID()): Mlflow =>
      mlflowClient(targetAt(server.url, experiment), { fetch, clock: systemClock });
    const made = async (mlflow: Mlflow, runId = "r"): Promise<string> =>
      ensureRun(
        mlflow,
        { runId, startTime: 1000, tags: [{ key: "mlflow.runName", value: runId }] },
        { clock: systemClock, remembered: { remoteId: null, askedAt: null }, save: () => undefined },
      );

    it("tell its version", async () => {
      expect(await open().version()).toBe(version);
    });

    it("find a run again by whoever asks, and make none of an experiment that another makes at once", async () => {
      const experiment = randomUUID();
      const ids = await Promise.all(["a", "b", "c"].map(async (id) => made(open(experiment), id)));
      expect(new Set(ids).size).toBe(3);
      expect(await made(open(experiment), "b")).toBe(ids[1]);
      expect(await look(server.url).runs(experiment)).toHaveLength(3);
    });

    it("cut long parameters only as far as this server asks for, and never change one", async () => {
      const mlflow = open();
      const id = await made(mlflow);
      const params = [
        { key: "long", value: "x".repeat(7000) },
        { key: "short", value: "y" },
      ];
      await sendParams(mlflow, id, params);
      await sendParams(mlflow, id, params);
      await sendParams(mlflow, id, [{ key: "short", value: "other" }]);
      const [run] = await look(server.url).runs(mlflow.target.experiment);
      expect(run?.params["short"]).toBe("y");
      expect(run?.params["long"]?.length).toBeGreaterThan(longest - 10);
      expect(run?.params["long"]).toMatch(/… \(sha256 [0-9a-f]{12}\)$/);
    });

    it("send more tags and longer ones than one call takes", async () => {
      const mlflow = open();
      const id = await made(mlflow);
      const tags = Array.from({ length: 130 }, (_, at) => ({ key: `t.${at}`, value: "v".repeat(9000) }));
      await sendTags(mlflow, id, tags);
      const [run] = await look(server.url).runs(mlflow.target.experiment);
      expect(Object.keys(run?.tags ?? {}).filter((key) => key.startsWith("t."))).toHaveLength(130);
    });

    it("send what may be there already only where it is not", async () => {
      const mlflow = open();
      const id = await made(mlflow);
      const points = [1, 2, 3].map((step) => ({ key: "train/loss", step, value: step, timestamp: 5 }));
      await mlflow.logPoints(id, points.slice(0, 2));
      await sendPoints(mlflow, id, points, { marks: {}, doubtful: true, save: () => undefined });
      expect((await look(server.url).history(id, "train/loss")).map(([step]) => step)).toEqual([1, 2, 3]);
    });
  });
}

describe("a server that is none", () => {
  it("fails with a sentence, at once where nobody is there", async () => {
    const [port] = await freePorts(1);
    const mlflow = mlflowClient(targetAt(`http://127.0.0.1:${port}`, "x"), { fetch, clock: systemClock });
    await expect(mlflow.experiment("x")).rejects.toMatchObject({
      code: "MLFLOW_ABSENT",
      maybeDone: false,
      message: `MLflow at http://127.0.0.1:${port} does not answer: ECONNREFUSED`,
    });
  });

  it("is given up after the deadline, three times", async () => {
    let calls = 0;
    const never: typeof fetch = async (_, init) =>
      new Promise((_resolve, reject) => {
        calls += 1;
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    const clock = { ...systemClock, sleep: async () => undefined };
    const mlflow = mlflowClient(targetAt("http://lab", "x"), { fetch: never, clock, timeout: 20 });
    await expect(mlflow.experiment("x")).rejects.toMatchObject({
      code: "MLFLOW_SILENT",
      message: "MLflow at http://lab does not answer: no answer in time",
    });
    expect(calls).toBe(3);
    // What may have been done is not sent again.
    await expect(mlflow.logPoints("id", [])).rejects.toMatchObject({ maybeDone: true });
    expect(calls).toBe(4);
  });
});
