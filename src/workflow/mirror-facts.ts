import {
  endWords,
  type Attempt,
  type MlflowStatus,
  type Pair,
  type Run,
  type Store,
} from "../track/index.ts";
import { lockOf } from "./run-lock.ts";

/** What stands with the MLflow run from the start. */
export const birthTags = (run: Run): readonly Pair[] => {
  const commit = lockOf(run).git?.commit;
  return pairs([
    ["mlflow.runName", run.id],
    ["mlflow.source.name", "understudy"],
    ["mlflow.source.type", "JOB"],
    ...(commit === undefined ? [] : [["mlflow.source.git.commit", commit] as const]),
  ]);
};

/** What was trained, and from what: never changes. Paths and hosts are no part of it. */
export const paramsOf = (run: Run): readonly Pair[] => {
  const { resolved, job } = lockOf(run);
  const { model } = job.manifest;
  const revision =
    typeof model === "object" && model !== null && "revision" in model ? model.revision : undefined;
  const known: readonly (readonly [string, unknown])[] = [
    ["recipe", run.name],
    ["recipe.digest", run.recipeDigest],
    ["model.revision", revision],
  ];
  if (resolved === null) return pairs(known);
  const { recipe, plan, datasetLockDigest, payloadDigest } = resolved;
  return pairs([
    ...known,
    ["model", recipe.model.kind === "hub" ? recipe.model.id : `tiny (seed ${recipe.model.seed})`],
    ["dataset", recipe.dataset.name],
    ["dataset.trainOn", recipe.dataset.trainOn.join(", ")],
    ["dataset.lock_digest", datasetLockDigest],
    ["payload.digest", payloadDigest],
    ["plan.steps", plan.steps],
    ["plan.epochs", plan.epochs],
    ["evaluation.everySteps", recipe.evaluation.everySteps],
    ...flattened("training", recipe.training),
  ]);
};

const ENDED: Readonly<Partial<Record<Run["state"], MlflowStatus>>> = {
  succeeded: "FINISHED",
  failed: "FAILED",
  timed_out: "FAILED",
  lost: "FAILED",
  blocked: "FAILED",
  cancelled: "KILLED",
};
const AT_WORK = new Set<Run["state"]>(["running", "recovering", "cancelling"]);

/** A run's state in MLflow's five words, and when it ended (milliseconds since the epoch). */
export const statusOf = (
  run: Pick<Run, "state" | "updatedAt">,
  attempts: readonly Attempt[],
): { readonly status: MlflowStatus; readonly endTime: number | null } => {
  const status = ENDED[run.state];
  if (status === undefined)
    return { status: AT_WORK.has(run.state) ? "RUNNING" : "SCHEDULED", endTime: null };
  return { status, endTime: Date.parse(attempts.at(-1)?.endedAt ?? run.updatedAt) };
};

/** What MLflow's words do not say: the state as we know it, and how each attempt went. */
export const stateTags = (store: Store, run: Run, attempts: readonly Attempt[]): readonly Pair[] => {
  const { profileName, job } = lockOf(run);
  const repeated = repeatedSteps(store, run, attempts);
  return pairs([
    ["understudy.state", run.state],
    ["understudy.state_in_words", run.reason],
    ["understudy.attempts", attempts.length],
    ["understudy.profile", profileName],
    ["understudy.launcher", job.profile.kind],
    ["understudy.steps_repeated", [...repeated.values()].reduce((sum, { steps }) => sum + steps, 0)],
    ...attempts.map((attempt) => {
      const again = repeated.get(attempt.number);
      const from = again && `went on from step ${again.from}, ${again.steps} steps of it again`;
      const ended = attempt.endedAt === null ? "open" : `until ${attempt.endedAt}`;
      const ending = endWords(attempt);
      const how = ending === null ? undefined : `${attempt.reason}: ${ending}`;
      const words = [`since ${attempt.startedAt}`, ended, from, how].filter((word) => word !== undefined);
      return [`understudy.attempt.${attempt.number}`, words.join("; ")] as const;
    }),
  ]);
};

interface Repeat {
  readonly from: number;
  readonly steps: number;
}

/** Steps that an attempt did once more, because the one before it had gone further than its last checkpoint. */
function repeatedSteps(store: Store, run: Run, attempts: readonly Attempt[]): ReadonlyMap<number, Repeat> {
  const repeats = new Map<number, Repeat>();
  if (attempts.length < 2) return repeats;
  const losses = store.metrics(run.id, "train/loss");
  let reached = 0;
  for (const { number } of attempts) {
    const own = losses.filter(({ attempt }) => attempt === number);
    const said = store.events(run.id, { attempt: number, types: ["resumed"], limit: 1 })[0]?.data;
    const from = typeof said === "object" && said !== null && "step" in said ? Number(said.step) : 0;
    const steps = Math.min(reached, own.at(-1)?.step ?? 0) - from;
    if (steps > 0) repeats.set(number, { from, steps });
    reached = Math.max(reached, own.at(-1)?.step ?? 0);
  }
  return repeats;
}

function flattened(prefix: string, value: object): (readonly [string, unknown])[] {
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "object" && inner !== null
      ? flattened(`${prefix}.${key}`, inner)
      : [[`${prefix}.${key}`, inner] as const],
  );
}

function pairs(entries: readonly (readonly [string, unknown])[]): readonly Pair[] {
  return entries.flatMap(([key, value]) =>
    value === null || value === undefined || value === ""
      ? []
      : [{ key, value: typeof value === "string" ? value : JSON.stringify(value) }],
  );
}
