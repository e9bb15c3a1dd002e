import { join } from "node:path";
import { z } from "zod";
import { listCheckpoints, selectCheckpoints, type CheckpointManifest } from "../checkpoint/index.ts";
import { messageOf, UserError } from "../core/errors.ts";
import { parseJson, readIfExists, writeJson } from "../core/files.ts";
import { packDataset } from "../dataset/index.ts";
import { withProcessLock } from "../core/process-lock.ts";
import { loadProfile } from "../launch/index.ts";
import { TERMINAL_STATES, type Run } from "../track/index.ts";
import { lost } from "./evaluate-kind.ts";
import { evaluateRun } from "./evaluate-run.ts";
import { followRun, followToSuccess } from "./follow.ts";
import { prepareTraining, type PreparedTraining } from "./prepare-training.ts";
import { pythonFor } from "./python-for.ts";
import { reportRun, type WrittenReport } from "./report-run.ts";
import { freshRunId, resumeRun, stopRun } from "./runs.ts";
import type { Shop } from "./shop.ts";
import { trainFromRecipe } from "./train-from-recipe.ts";

const Journal = z.strictObject({
  schemaVersion: z.literal(1),
  runId: z.string(),
  status: z.enum(["open", "done"]),
});
type Journal = z.infer<typeof Journal>;

export interface QuickstartRequest {
  /** Name of the data set to pack first. */
  readonly dataset: string;
  readonly recipe: string;
  readonly profile: string;
}

export interface QuickstartResult extends WrittenReport {
  readonly runId: string;
}

/**
 * Sample corpus → train → evaluate → report. Its only memory is which run it is on: every stage knows by itself what it
 * has finished, so the same call goes on after an interruption anywhere. UserError `QUICKSTART_RUNNING` for a second one.
 */
export const quickstart = async (shop: Shop, request: QuickstartRequest): Promise<QuickstartResult> => {
  const folder = join(shop.project.state, "quickstart");
  const refuse = (holder: number): never => {
    throw new UserError("QUICKSTART_RUNNING", `A quickstart is running already (process ${holder})`, {
      hint: "wait for it, or stop it with Ctrl-C in its terminal",
    });
  };
  const options = { clock: shop.clock, signal: shop.signal, onWait: refuse };
  return withProcessLock(join(folder, "lock"), options, async () =>
    run(shop, request, join(folder, "journal.json")),
  );
};

async function run(shop: Shop, request: QuickstartRequest, journalPath: string): Promise<QuickstartResult> {
  const { onProgress } = shop;
  await pack(shop, request.dataset);
  onProgress({ type: "stage", stage: "environment", text: "Python environment and model" });
  await pythonFor(shop, await loadProfile(shop.project, request.profile));
  const { runId, prepared } = await prepare(shop, request, journalPath);
  onProgress({ type: "stage", stage: "train", text: `training run ${runId}` });
  await train(shop, request, { runId, prepared });
  await tellCheckpoints(shop, runId);
  onProgress({
    type: "stage",
    stage: "evaluate",
    text: "base model, lowest dev loss and last checkpoint on the test roles",
  });
  const evaluation = await evaluateRun(shop, runId);
  onProgress({ type: "stage", stage: "report", text: "numbers, charts and audio" });
  const report = await reportRun(shop, runId, evaluation);
  await writeJson(journalPath, { schemaVersion: 1, runId, status: "done" } satisfies Journal);
  return { runId, ...report };
}

async function tellCheckpoints(shop: Shop, runId: string): Promise<void> {
  const manifests = await listCheckpoints(shop.project, runId);
  const { lowestDevLoss, last } = selectCheckpoints(manifests);
  const named = (words: string, one: CheckpointManifest | undefined): string =>
    `${words} at step ${one?.step ?? "?"} (${one?.metrics.devLoss?.toFixed(3) ?? "no dev loss"})`;
  shop.onProgress({
    type: "note",
    text: `${manifests.length} checkpoints: ${named("lowest dev loss", lowestDevLoss)}, ${named("last", last)}`,
  });
}

async function pack(shop: Shop, name: string): Promise<void> {
  const { onProgress, project, signal, clock } = shop;
  onProgress({ type: "stage", stage: "pack", text: `data set ${name}` });
  const { lock, reused } = await packDataset({
    project,
    name,
    signal,
    clock,
    onWait: (holder) =>
      onProgress({ type: "note", text: `process ${holder} is packing ${name} already; waiting for it` }),
    onProgress: ({ phase, done, total }) =>
      onProgress({
        type: "work",
        text: phase === "check" ? "checked" : "written",
        done,
        total: total ?? done,
      }),
  });
  const rows = Object.entries(lock.splits).map(([split, { rows: count }]) => `${split} ${count}`);
  onProgress({ type: "note", text: `${reused ? "packed already" : "packed"}: ${rows.join(", ")} dialogues` });
}

async function prepare(
  shop: Shop,
  request: QuickstartRequest,
  journalPath: string,
): Promise<{ readonly runId: string; readonly prepared: PreparedTraining }> {
  const prepareAs = async (runId: string, force: boolean): Promise<PreparedTraining> =>
    prepareTraining(shop, {
      recipe: request.recipe,
      folder: shop.project.root,
      set: [],
      profile: request.profile,
      runId,
      force,
    });
  const open = await openJournal(journalPath);
  if (open !== undefined) {
    const present = shop.store.findRun(open.runId);
    // What is trained already needs no disk for its checkpoints.
    const prepared = await prepareAs(open.runId, present?.state === "succeeded");
    if (present === undefined || present.recipeDigest === prepared.resolution.digest)
      return { runId: open.runId, prepared };
    await abandon(shop, present);
  }
  const fresh = freshRunId(shop, "quickstart");
  // Before the run exists: a kill right after this finds the same id again.
  await writeJson(journalPath, { schemaVersion: 1, runId: fresh, status: "open" } satisfies Journal);
  return { runId: fresh, prepared: await prepareAs(fresh, false) };
}

async function openJournal(path: string): Promise<Journal | undefined> {
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  try {
    const journal = parseJson(text, Journal, path);
    return journal.status === "open" ? journal : undefined;
  } catch (error) {
    throw new UserError("QUICKSTART_JOURNAL_INVALID", messageOf(error), {
      hint: "delete this file and run the same command again: it begins a new run, and what runs have made stays",
      cause: error,
    });
  }
}

async function abandon(shop: Shop, present: Run): Promise<void> {
  shop.onProgress({
    type: "note",
    text: `recipe, data or code changed since run ${present.id}: a new run is started`,
  });
  // Its evaluation jobs too: what they would find is not asked for any more.
  for (const { id, state } of shop.store.listRuns({ pipelineId: present.id })) {
    if (TERMINAL_STATES.includes(state)) continue;
    await stopRun(shop, id, "now");
    await followRun(shop, id);
  }
}

async function train(
  shop: Shop,
  request: QuickstartRequest,
  { runId, prepared }: { readonly runId: string; readonly prepared: PreparedTraining },
): Promise<void> {
  const present = shop.store.findRun(runId);
  if (present === undefined) {
    await trainFromRecipe(shop, prepared, request.profile);
  } else if (present.state === "succeeded") {
    shop.onProgress({ type: "note", text: "trained already" });
  } else if (present.state === "lost") {
    throw lost(present);
  } else if (["failed", "cancelled", "timed_out"].includes(present.state)) {
    shop.onProgress({ type: "note", text: `goes on after: ${present.reason}` });
    await resumeRun(shop, runId);
  }
  await followToSuccess(shop, runId);
}
