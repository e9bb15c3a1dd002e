import { z } from "zod";

const Run = z.object({
  run: z.object({
    info: z.object({
      run_id: z.string(),
      status: z.string(),
      end_time: z.coerce.number().optional(),
      lifecycle_stage: z.string(),
    }),
    data: z.object({
      params: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
      tags: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
    }),
  }),
});
const Runs = z.object({ runs: z.array(Run.shape.run).default([]) });
const History = z.object({
  metrics: z
    .array(
      z.object({
        value: z.union([z.number(), z.string()]),
        step: z.coerce.number().default(0),
        timestamp: z.coerce.number(),
      }),
    )
    .default([]),
});

const Experiment = z.object({ experiment: z.object({ experiment_id: z.string() }) });

export interface SeenRun {
  readonly id: string;
  readonly status: string;
  readonly params: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
}

/** What an MLflow server says when it is asked directly, by somebody who knows nothing of our client. */
export const look = (
  url: string,
): {
  readonly call: (path: string, body?: unknown) => Promise<unknown>;
  readonly experiment: (name: string) => Promise<string>;
  readonly runs: (experiment: string) => Promise<readonly SeenRun[]>;
  readonly history: (id: string, key: string) => Promise<readonly (readonly [number, number | string])[]>;
} => {
  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}/api/2.0/mlflow/${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json" },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  const experiment = async (name: string): Promise<string> =>
    Experiment.parse(await call(`experiments/get-by-name?experiment_name=${name}`)).experiment.experiment_id;
  return {
    call,
    experiment,
    runs: async (name) => {
      const body = { experiment_ids: [await experiment(name)], max_results: 100, run_view_type: "ALL" };
      return Runs.parse(await call("runs/search", body)).runs.map(({ info, data }) => ({
        id: info.run_id,
        status: info.status,
        params: Object.fromEntries(data.params.map(({ key, value }) => [key, value])),
        tags: Object.fromEntries(data.tags.map(({ key, value }) => [key, value])),
      }));
    },
    history: async (id, key) =>
      History.parse(await call(`metrics/get-history?run_id=${id}&metric_key=${key}`)).metrics.map(
        ({ step, value }) => [step, value] as const,
      ),
  };
};
