import { join } from "node:path";
import { listCheckpoints, selectCheckpoints, type CheckpointManifest } from "../checkpoint/index.ts";
import { InternalError, UserError } from "../core/errors.ts";
import { digestOf } from "../core/hash.ts";
import { openDataset, verifyDataset } from "../dataset/index.ts";
import { noJudge, readResults, type Evaluation, type System } from "../evaluate/index.ts";
import { withProcessLock } from "../launch/index.ts";
import type { ResolvedRecipe } from "../recipe/index.ts";
import type { Run } from "../track/index.ts";
import { planSuites } from "./evaluation-data.ts";
import { EVALUATION_KINDS, evaluationManifest, openTasks, type EvaluationKind } from "./evaluation-jobs.ts";
import { planCells, type PlannedCell } from "./evaluation-tasks.ts";
import { followToSuccess } from "./follow.ts";
import { checkJob, runFolder } from "./prepare-training.ts";
import { lockOf, type RunLock } from "./run-lock.ts";
import { resumeRun, startRun } from "./runs.ts";
import type { Shop } from "./shop.ts";

/**
 * Evaluates a finished training run: base model, lowest dev loss and last checkpoint on seen and unseen test roles.
 * Finished tasks are found by content and never done again. UserErrors `RUN_NOT_TRAINED`, `NO_CHECKPOINT`.
 */
export const evaluateRun = async (shop: Shop, runId: string): Promise<Evaluation> => {
  const run = shop.store.getRun(runId);
  const lock = lockOf(run);
  if (lock.resolved === null || run.state !== "succeeded") {
    throw new UserError(
      "RUN_NOT_TRAINED",
      `Run ${runId} is not a finished training run: ${run.kind}, ${run.state}`,
      {
        hint: `wait for it, or resume it: understudy run resume ${runId}`,
      },
    );
  }
  const { resolved } = lock;
  await verifyDataset(shop.project, resolved.recipe.dataset.name);
  const systems = await systemsOf(shop, run, lock, resolved);
  // One evaluation at a time on this machine: two runs share the base model's task folders.
  const options = {
    clock: shop.clock,
    signal: shop.signal,
    onWait: (holder: number) =>
      shop.onProgress({
        type: "note",
        text: `waiting for process ${holder}, which is evaluating in this project`,
      }),
  };
  return withProcessLock(join(shop.project.state, "evaluations", ".lock"), options, async () =>
    evaluateSystems(shop, { run, lock, resolved, systems }),
  );
};

const NO_JUDGE = "no language judge is configured";

interface Subject {
  readonly run: Run;
  readonly lock: RunLock;
  readonly resolved: ResolvedRecipe;
  readonly systems: readonly System[];
}

async function evaluateSystems(shop: Shop, subject: Subject): Promise<Evaluation> {
  const { run, resolved, systems } = subject;
  const dataset = await openDataset(shop.project, resolved.recipe.dataset.name);
  try {
    const suites = await planSuites(dataset, resolved.trainingRoles, resolved.recipe.evaluation.suites);
    const cells = planCells(systems, suites, {
      recipe: resolved.recipe,
      payloadDigest: resolved.payloadDigest,
      folder: join(shop.project.state, "evaluations"),
    });
    for (const kind of EVALUATION_KINDS) await runKind(shop, subject, kind, cells);
    const results = await Promise.all(
      cells.map(async ({ system, planned, scores, answers, measures }) =>
        readResults({
          system: system.id,
          suite: planned.suite.id,
          expected: planned.expected,
          folders: { scores, answers, measures },
        }),
      ),
    );
    return { id: `${run.id}-evaluation`, systems, results, judge: noJudge(NO_JUDGE).identity };
  } finally {
    await dataset.close();
  }
}

async function runKind(
  shop: Shop,
  subject: Subject,
  kind: EvaluationKind,
  cells: readonly PlannedCell[],
): Promise<void> {
  const tasks = await openTasks(kind, cells);
  if (tasks.length === 0) return;
  const children = shop.store.listRuns({ kind }).filter(({ parentId }) => parentId === subject.run.id);
  const folders = tasks.map(({ proof }) => proof.folder);
  const started = children.find((child) => child.state !== "succeeded" && covers(child, folders));
  const child =
    started ?? (await startKind(shop, subject, { kind, cells, tasks, number: children.length + 1 }));
  if (started && ENDED_SHORT.has(started.state)) await resumeRun(shop, started.id);
  await followToSuccess(shop, child.id);
  if ((await openTasks(kind, cells)).length === 0) return;
  throw new InternalError("ROWS_LOST", `Run ${child.id} succeeded, but its rows are not what it wrote`, {
    hint: "is another program changing the evaluations folder in the state folder?",
  });
}

const ENDED_SHORT = new Set(["failed", "cancelled", "timed_out", "lost"]);

// An unfinished run for (at least) these tasks is gone on with; one for other tasks has other folders and is left alone.
function covers(child: Run, folders: readonly string[]): boolean {
  const { proof } = lockOf(child);
  if (proof.kind !== "tasks") return false;
  const own = new Set(proof.tasks.map(({ folder }) => folder));
  return folders.every((folder) => own.has(folder));
}

async function startKind(
  shop: Shop,
  { run, lock, resolved }: Subject,
  work: {
    readonly kind: EvaluationKind;
    readonly cells: readonly PlannedCell[];
    readonly tasks: Awaited<ReturnType<typeof openTasks>>;
    readonly number: number;
  },
): Promise<Run> {
  const { kind, cells, tasks } = work;
  const id = `${run.id}-${kind}-${work.number}`;
  const { device } = lock.job.profile;
  const rows = cells.reduce((sum, { planned }) => sum + planned.expected.length, 0);
  const job = {
    ...lock.job,
    kind,
    runId: id,
    runFolder: runFolder(shop, id),
    manifest: evaluationManifest(kind, {
      recipe: resolved.recipe,
      model: modelOf(lock),
      device,
      run: id,
      tasks,
    }),
    diskBytes: DISK[kind] * rows,
  };
  await checkJob(shop, job, false);
  return startRun(shop, {
    job,
    proof: { kind: "tasks", tasks: tasks.map(({ proof }) => proof) },
    profileName: lock.profileName,
    training: null,
    name: kind,
    parentId: run.id,
    ...(run.pipelineId === null ? {} : { pipelineId: run.pipelineId }),
  });
}

/** Bytes that one row may take: 30 s of 24 kHz audio for an answer. */
const DISK: Readonly<Record<EvaluationKind, number>> = { score: 500, infer: 1_500_000, measure: 3000 };

function modelOf(lock: RunLock): { readonly path: string; readonly revision: string } {
  const { model } = lock.job.manifest;
  if (typeof model === "object" && model !== null && "path" in model && "revision" in model) {
    return { path: String(model.path), revision: String(model.revision) };
  }
  throw new InternalError("RUN_LOCK_INVALID", "The job of the run names no model");
}

async function systemsOf(
  shop: Shop,
  run: Run,
  lock: RunLock,
  resolved: ResolvedRecipe,
): Promise<readonly System[]> {
  const { lowestDevLoss, last } = selectCheckpoints(await listCheckpoints(shop.project, run.id));
  if (last === undefined) throw new UserError("NO_CHECKPOINT", `Run ${run.id} has no complete checkpoint`);
  const chosen = lowestDevLoss ?? last;
  const { speaker } = resolved.recipe.evaluation;
  const base: System = {
    id: "base",
    label: "base model",
    step: null,
    checkpoint: null,
    weightsDigest: digestOf({ base: modelOf(lock).revision }),
    speaker,
  };
  const of = (id: string, words: string, { step, uri, weightsDigest, kind }: CheckpointManifest): System => ({
    id,
    label: `${words} (step ${step})`,
    step,
    checkpoint: uri,
    // The same adapter on another base is another model.
    weightsDigest: digestOf({ base: modelOf(lock).revision, kind, weights: weightsDigest }),
    speaker,
  });
  return [base, of("lowest-dev-loss", "lowest dev loss", chosen), of("last", "last checkpoint", last)];
}
