import { join } from "node:path";
import {
  findCheckpoints,
  listCheckpoints,
  selectCheckpoints,
  verifyListed,
  weightsDigest,
  type CheckpointFiles,
  type CheckpointManifest,
} from "../checkpoint/index.ts";
import { InternalError, RemoteError, UserError } from "../core/errors.ts";
import { digestOf } from "../core/hash.ts";
import { lockDigest, openDataset, verifyDataset, type DatasetLock } from "../dataset/index.ts";
import { noJudge, readResults, type Evaluation, type System } from "../evaluate/index.ts";
import { withProcessLock } from "../core/process-lock.ts";
import type { ResolvedRecipe } from "../recipe/index.ts";
import { TERMINAL_STATES, type Run } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import { HASHED_AT_ONCE } from "./collect-checkpoints.ts";
import { planSuites } from "./evaluation-data.ts";
import { evaluateKind } from "./evaluate-kind.ts";
import { EVALUATION_KINDS } from "./evaluation-jobs.ts";
import { tellPresent } from "./evaluation-present.ts";
import { planCells } from "./evaluation-tasks.ts";
import { followRun } from "./follow.ts";
import { snapshotPayload } from "./payload-snapshot.ts";
import { withLease } from "./lease.ts";
import { pythonFor } from "./python-for.ts";
import { lockOf, type RunLock } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";
import { TEST_OPENED } from "./test-opened.ts";

/**
 * Evaluates a finished training run: base model, lowest dev loss and last checkpoint on seen and unseen test roles. One
 * that still trains is waited for. Finished tasks are found by content and never done again. UserErrors
 * `RUN_NOT_TRAINED`, `NO_CHECKPOINT`, `DATASET_CHANGED`; RemoteError `EVALUATION_BLOCKED` when the run that was waited for
 * ends without its proof.
 */
export const evaluateRun = async (shop: Shop, runId: string): Promise<Evaluation> => {
  const lock = lockOf(shop.store.getRun(runId));
  const { resolved } = lock;
  if (resolved === null) throw notTrained(shop.store.getRun(runId));
  const run = await succeeded(shop, runId);
  requireSameData(await verifyDataset(shop.project, resolved.recipe.dataset.name), run, resolved);
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

// A job may have ended while nobody looked; one that trains on is waited for, up to its proof.
async function succeeded(shop: Shop, runId: string): Promise<Run> {
  const { run } = await advanceRun(shop, runId);
  if (run.state === "succeeded") return run;
  if (TERMINAL_STATES.includes(run.state)) throw notTrained(run);
  const text = `run ${runId} is ${run.state}: its evaluation waits here until it has succeeded`;
  shop.onProgress({ type: "note", text });
  const ended = await followRun(shop, runId);
  if (ended.state === "succeeded") return ended;
  throw new RemoteError(
    "EVALUATION_BLOCKED",
    `The evaluation is blocked: run ${runId}, which it waited for, is ${ended.state}: ${ended.reason}`,
    { hint: `go on with it: understudy run resume ${runId}; then again: understudy eval start ${runId}` },
  );
}

function notTrained({ id, kind, state, parentId }: Run): UserError {
  const of = (sentence: string, hint: string): UserError =>
    new UserError("RUN_NOT_TRAINED", sentence, { hint });
  if (kind !== "train") {
    const sentence = `Run ${id} is not a training run, but a job that belongs to one (${kind})`;
    return of(sentence, `give the training run's id: ${parentId ?? "see understudy run list"}`);
  }
  if (state === "succeeded") return of(`Run ${id} was recorded without a recipe`, "start it from one");
  return of(
    `The training of run ${id} is not complete: it is ${state}, and only a complete one is evaluated`,
    WAYS_ON[state]?.(id, parentId) ?? `let it go on: understudy run resume ${id} -f; then evaluate it`,
  );
}

const WAYS_ON: Readonly<Partial<Record<Run["state"], (id: string, parentId: string | null) => string>>> = {
  lost: (id) =>
    `look at its machine; if its job is gone: understudy run resume ${id} -f; then evaluate it, or understudy run settle ${id}`,
  blocked: (_, parentId) => `it waits for another run: understudy run resume ${parentId ?? "RUN"}`,
};

// After another division of the same corpus, the test dialogues may be ones that were trained on.
function requireSameData(lock: DatasetLock, run: Run, resolved: ResolvedRecipe): void {
  const digest = lockDigest(lock);
  if (digest === resolved.datasetLockDigest) return;
  throw new UserError(
    "DATASET_CHANGED",
    `Run ${run.id} was trained on ${lock.name} with lock ${resolved.datasetLockDigest}, which is now ${digest}`,
    { hint: `bring datasets/${lock.name}.lock.json and its source back and pack them, or train anew` },
  );
}

const NO_JUDGE = "no language judge is configured";

interface Trained {
  readonly run: Run;
  readonly lock: RunLock;
  readonly resolved: ResolvedRecipe;
  readonly systems: readonly System[];
}

async function evaluateSystems(shop: Shop, { run, lock, resolved, systems }: Trained): Promise<Evaluation> {
  const dataset = await openDataset(shop.project, resolved.recipe.dataset.name);
  try {
    // The rows are filed under the code that writes them, which need not be the code that trained.
    const payload = await snapshotPayload(shop);
    const python = await pythonFor(shop, lock.job.profile);
    const suites = await planSuites(dataset, resolved.trainingRoles, resolved.recipe.evaluation.suites);
    const cells = planCells(systems, suites, {
      recipe: resolved.recipe,
      payloadDigest: payload.digest,
      folder: join(shop.project.state, "evaluations"),
    });
    const subject = {
      run,
      lock,
      recipe: resolved.recipe,
      data: dataset.lock,
      model: modelOf(lock),
      payload,
      python,
      cells,
    };
    await recordOpening(shop, run, systems);
    await tellPresent(shop, run.id, cells);
    for (const kind of EVALUATION_KINDS) await evaluateKind(shop, subject, kind);
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

// Rows are filed under the digest of the weights, so the weights must be those the digest was taken of.
async function requireSound(files: CheckpointFiles, manifest: CheckpointManifest): Promise<void> {
  const { id, uri, step } = manifest;
  const listed = (await findCheckpoints(files, "output")).find((one) => one.checkpoint.step === step);
  const found = listed?.checkpoint;
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  const problems =
    listed && found?.complete
      ? (
          await verifyListed(
            files,
            { folder: found.folder, sizes: listed.sizes, marker: found.marker },
            { digests: bytes <= HASHED_AT_ONCE },
          )
        ).problems
      : [{ path: uri, problem: found?.complete === false ? found.reason : "the folder is gone" }];
  const same = found?.complete && weightsDigest(found.marker) === manifest.weightsDigest;
  const [problem] = problems;
  if (problem === undefined && same) return;
  const detail = problem ? `${problem.path}: ${problem.problem}` : "its marker names other weights";
  throw new UserError("CHECKPOINT_CHANGED", `Checkpoint ${id} is not what was trained: ${detail}`, {
    hint: "bring its files back, or delete the folder and resume the run to train it again",
  });
}

async function recordOpening(shop: Shop, run: Run, systems: readonly System[]): Promise<void> {
  if (shop.store.events(run.id, { types: [TEST_OPENED], limit: 1 }).length > 0) return;
  const data = {
    systems: systems.map(({ id, step, ...system }) => ({ id, step, weights: system.weightsDigest })),
  };
  const held = await withLease(shop, run.id, async (lease) =>
    shop.store.appendEvent(lease, { type: TEST_OPENED, data }),
  );
  if (held.outcome === "held") {
    throw new UserError("RUN_HELD", `Run ${run.id} is being worked on by ${held.owner}`, {
      hint: "try again in a minute",
    });
  }
}

// The run's folder, on whatever machine it lies.
async function filesOf(shop: Shop, run: Run): Promise<CheckpointFiles> {
  const ref = shop.store.attempts(run.id).flatMap(refsOf).at(-1);
  if (ref !== undefined) return (await launcherOf(shop, run)).artifacts(ref);
  throw new InternalError("RUN_UNPLACED", `Run ${run.id} succeeded, but no attempt says where`);
}

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
  const files = await filesOf(shop, run);
  for (const manifest of new Set([chosen, last])) await requireSound(files, manifest);
  const { speaker } = resolved.recipe.evaluation;
  const base: System = {
    id: "base",
    label: "base model",
    step: null,
    checkpoint: null,
    weightsDigest: digestOf({ base: modelOf(lock).revision }),
    speaker,
  };
  const of = (id: string, words: string, manifest: CheckpointManifest): System => ({
    id,
    label: `${words} (step ${manifest.step})`,
    step: manifest.step,
    checkpoint: manifest.uri,
    // The same adapter on another base is another model.
    weightsDigest: digestOf({
      base: modelOf(lock).revision,
      kind: manifest.kind,
      weights: manifest.weightsDigest,
    }),
    speaker,
  });
  return [base, of("lowest-dev-loss", "lowest dev loss", chosen), of("last", "last checkpoint", last)];
}
