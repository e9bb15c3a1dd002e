import type { Clock } from "../../core/clock.ts";
import { type Mlflow, type Pair } from "./client.ts";
import { MlflowError } from "./error.ts";

/** The tag by which a run of ours is found again. */
export const RUN_TAG = "understudy.run_id";

// A proxy may give up on a creation that the server behind it still works on.
const UNSURE_MILLISECONDS = 60_000;

/** What is known of the copy of a run, kept before and after each step. */
export interface Remembered {
  readonly remoteId: string | null;
  readonly askedAt: number | null;
}

export interface RunRequest {
  readonly runId: string;
  /** Milliseconds since the epoch. */
  readonly startTime: number;
  readonly tags: readonly Pair[];
}

export interface RunWork {
  readonly clock: Clock;
  readonly remembered: Remembered;
  readonly save: (change: {
    readonly remoteId?: string;
    readonly experimentId?: string;
    readonly askedAt?: number | null;
  }) => void;
}

/**
 * The MLflow run of a run of ours, made when there is none: found by its tag, whoever made it. A creation whose reply is
 * lost is settled by looking for the tag; another one is sent only when there is none a minute later. MlflowErrors
 * `MLFLOW_EXPERIMENT_DELETED`, `MLFLOW_RUN_DELETED`, `MLFLOW_CREATE_UNSURE`, and those of `ask`.
 */
export const ensureRun = async (mlflow: Mlflow, request: RunRequest, work: RunWork): Promise<string> => {
  const { remembered, clock, save } = work;
  if (remembered.remoteId !== null) return remembered.remoteId;
  const experimentId = await ensureExperiment(mlflow);
  const found = await mlflow.findRuns(experimentId, { key: RUN_TAG, value: request.runId });
  const present = found.find(({ deleted }) => !deleted);
  if (present !== undefined) {
    save({ remoteId: present.id, experimentId, askedAt: null });
    return present.id;
  }
  if (found.length > 0) throw runDeleted(mlflow, found[0]?.id ?? "");
  const { askedAt } = remembered;
  if (askedAt !== null && clock.now() - askedAt < UNSURE_MILLISECONDS) {
    throw new MlflowError(
      "MLFLOW_CREATE_UNSURE",
      `MLflow at ${mlflow.target.uri} was asked for a run and did not answer; it is looked for again before another is asked for`,
      { kind: "refused" },
    );
  }
  save({ askedAt: clock.now() });
  try {
    const { startTime, tags, runId } = request;
    const id = await mlflow.createRun({
      experimentId,
      startTime,
      tags: [{ key: RUN_TAG, value: runId }, ...tags],
    });
    save({ remoteId: id, experimentId, askedAt: null });
    return id;
  } catch (error) {
    if (error instanceof MlflowError && !error.maybeDone) save({ askedAt: null });
    throw error;
  }
};

// A watcher copies many runs at once, and a server that keeps files makes two experiments of one name when it is asked twice
// at once: here it is asked once. Of other programs, whoever comes second finds it.
const asking = new Map<string, Promise<string>>();

async function ensureExperiment(mlflow: Mlflow): Promise<string> {
  const key = `${mlflow.target.uri} ${mlflow.target.experiment}`;
  const answer = asking.get(key) ?? askForExperiment(mlflow);
  asking.set(key, answer);
  try {
    return await answer;
  } finally {
    asking.delete(key);
  }
}

async function askForExperiment(mlflow: Mlflow): Promise<string> {
  const { experiment: name, uri } = mlflow.target;
  const present = await mlflow.experiment(name);
  if (present === undefined) {
    const made = await mlflow.createExperiment(name);
    return made ?? (await mlflow.experiment(name))?.id ?? ensureNamed(mlflow);
  }
  if (!present.deleted) return present.id;
  throw new MlflowError(
    "MLFLOW_EXPERIMENT_DELETED",
    `The experiment "${name}" is deleted on the MLflow server ${uri}`,
    { kind: "refused" },
    {
      hint: `restore it there (mlflow experiments restore --experiment-id ${present.id}), or name another one in understudy.yaml`,
    },
  );
}

function ensureNamed({ target }: Mlflow): never {
  throw new MlflowError(
    "MLFLOW_EXPERIMENT_HIDDEN",
    `MLflow at ${target.uri} says that the experiment "${target.experiment}" exists and does not show it`,
    { kind: "refused" },
    { hint: "it may belong to somebody else: name another one in understudy.yaml" },
  );
}

/** Why a server refuses to write into a run: that it is deleted or gone, where that is so; else the error as it is. */
export const whyRefused = async (mlflow: Mlflow, id: string, error: unknown): Promise<unknown> => {
  if (!(error instanceof MlflowError) || error.code !== "MLFLOW_REFUSED") return error;
  const present = await mlflow.run(id);
  if (present === undefined) {
    return new MlflowError(
      "MLFLOW_RUN_GONE",
      `The MLflow server ${mlflow.target.uri} has no run ${id} any more: it or its experiment was removed for good`,
      { kind: "refused" },
      { hint: "name another experiment in understudy.yaml to have runs that go on recorded anew" },
    );
  }
  return present.deleted ? runDeleted(mlflow, id) : error;
};

function runDeleted({ target }: Mlflow, id: string): MlflowError {
  return new MlflowError(
    "MLFLOW_RUN_DELETED",
    `The run ${id} is deleted on the MLflow server ${target.uri}; it is not made anew`,
    { kind: "refused" },
    { hint: `restore it there (mlflow runs restore --run-id ${id}), and what is missing is sent` },
  );
}
