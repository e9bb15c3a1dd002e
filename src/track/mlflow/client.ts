import { z } from "zod";
import { MlflowError } from "./error.ts";
import { ask, type Ask, type MlflowWorld } from "./request.ts";
import type { MlflowTarget } from "./settings.ts";

export type MlflowStatus = "RUNNING" | "SCHEDULED" | "FINISHED" | "FAILED" | "KILLED";

/** A value of a metric; words for what JSON has no number for. */
export interface Point {
  readonly key: string;
  readonly step: number;
  readonly value: number | "NaN" | "Infinity" | "-Infinity";
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
}

export interface Pair {
  readonly key: string;
  readonly value: string;
}

export interface RemoteRun {
  readonly id: string;
  readonly deleted: boolean;
}

/** The few calls of MLflow's REST API that we use. Errors: those of `ask`. */
export interface Mlflow {
  readonly target: MlflowTarget;
  /** E.g. `3.1.0`; null where the server does not say. */
  version(): Promise<string | null>;
  experiment(name: string): Promise<{ readonly id: string; readonly deleted: boolean } | undefined>;
  /** The new one's id; undefined when there is one of that name already. */
  createExperiment(name: string): Promise<string | undefined>;
  /** Runs that carry the tag, deleted ones too, sorted by id. */
  findRuns(experimentId: string, tag: Pair): Promise<readonly RemoteRun[]>;
  /** Undefined when the server knows no such run. */
  run(id: string): Promise<RemoteRun | undefined>;
  createRun(run: {
    readonly experimentId: string;
    readonly startTime: number;
    readonly tags: readonly Pair[];
  }): Promise<string>;
  logPoints(id: string, points: readonly Point[]): Promise<void>;
  logParams(id: string, params: readonly Pair[]): Promise<void>;
  setTags(id: string, tags: readonly Pair[]): Promise<void>;
  update(
    id: string,
    change: { readonly status: MlflowStatus; readonly endTime: number | null },
  ): Promise<void>;
  /** Steps of a metric that are there. */
  steps(id: string, key: string): Promise<ReadonlySet<number>>;
}

/** What one call takes at most. */
export const MOST_POINTS = 1000;
export const MOST_PAIRS = 100;

const API = "api/2.0/mlflow/";
const Nothing = z.looseObject({});
const Experiment = z.object({
  experiment: z.object({ experiment_id: z.string(), lifecycle_stage: z.string().default("active") }),
});
// Servers before 2.0 have `run_uuid` alone.
const Info = z
  .object({
    run_id: z.string().optional(),
    run_uuid: z.string().optional(),
    lifecycle_stage: z.string().default("active"),
  })
  .transform(({ run_id, run_uuid, lifecycle_stage }): RemoteRun => ({
    id: run_id ?? run_uuid ?? "",
    deleted: lifecycle_stage !== "active",
  }));
const Found = z.object({ runs: z.array(z.object({ info: Info })).default([]) });
const History = z.object({ metrics: z.array(z.object({ step: z.coerce.number().default(0) })).default([]) });

export const mlflowClient = (target: MlflowTarget, world: MlflowWorld): Mlflow => {
  const post = async <Schema extends z.ZodType>(
    path: string,
    body: unknown,
    { schema, again }: Pick<Ask<Schema>, "schema" | "again">,
  ): Promise<z.output<Schema>> =>
    ask(target, world, { method: "POST", path: `${API}${path}`, body, schema, again });
  const get = async <Schema extends z.ZodType>(
    path: string,
    query: Readonly<Record<string, string>>,
    schema: Schema,
  ): Promise<z.output<Schema>> =>
    ask(target, world, { method: "GET", path: `${API}${path}`, query, schema, again: "any" });
  const log = async (id: string, data: object, again: "any" | "undone"): Promise<void> => {
    await post("runs/log-batch", { run_id: id, ...data }, { schema: Nothing, again });
  };
  return {
    target,
    version: async () => {
      try {
        const said = await ask(target, world, {
          method: "GET",
          path: "version",
          schema: z.unknown(),
          again: "any",
        });
        return typeof said === "string" && /^\d[\w.+-]*$/.test(said.trim()) ? said.trim() : null;
      } catch (error) {
        if (error instanceof MlflowError && error.kind === "refused" && error.code === "MLFLOW_REFUSED")
          return null;
        throw error;
      }
    },
    experiment: async (name) => {
      const found = await unlessMissing(
        get("experiments/get-by-name", { experiment_name: name }, Experiment),
      );
      if (found === undefined) return undefined;
      const { experiment_id, lifecycle_stage } = found.experiment;
      return { id: experiment_id, deleted: lifecycle_stage !== "active" };
    },
    createExperiment: async (name) => {
      const made = await unless(
        "RESOURCE_ALREADY_EXISTS",
        post(
          "experiments/create",
          { name },
          { schema: z.object({ experiment_id: z.string() }), again: "any" },
        ),
      );
      return made?.experiment_id;
    },
    findRuns: async (experimentId, { key, value }) => {
      const body = {
        experiment_ids: [experimentId],
        filter: `tags."${key}" = '${value}'`,
        run_view_type: "ALL",
        max_results: 100,
      };
      const { runs } = await post("runs/search", body, { schema: Found, again: "any" });
      return runs.map(({ info }) => info).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
    run: async (id) =>
      (await unlessMissing(get("runs/get", { run_id: id }, z.object({ run: z.object({ info: Info }) }))))?.run
        .info,
    createRun: async ({ experimentId, startTime, tags }) => {
      const schema = z.object({ run: z.object({ info: Info }) });
      const body = { experiment_id: experimentId, start_time: startTime, tags };
      const { run } = await post("runs/create", body, { schema, again: "undone" });
      return run.info.id;
    },
    // A server that keeps files has such a point twice when it is sent twice.
    logPoints: async (id, points) => log(id, { metrics: points }, "undone"),
    logParams: async (id, params) => log(id, { params }, "any"),
    setTags: async (id, tags) => log(id, { tags }, "any"),
    update: async (id, { status, endTime }) => {
      const body = { run_id: id, status, ...(endTime === null ? {} : { end_time: endTime }) };
      await post("runs/update", body, { schema: Nothing, again: "any" });
    },
    steps: async (id, key) => {
      const { metrics } = await get("metrics/get-history", { run_id: id, metric_key: key }, History);
      return new Set(metrics.map(({ step }) => step));
    },
  };
};

const unlessMissing = async <Result>(asked: Promise<Result>): Promise<Result | undefined> =>
  unless("RESOURCE_DOES_NOT_EXIST", asked);

async function unless<Result>(word: string, asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof MlflowError && error.word === word) return undefined;
    throw error;
  }
}
