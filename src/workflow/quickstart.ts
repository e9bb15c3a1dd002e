import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../core/errors.ts";
import { parseJson, readIfExists, writeJson } from "../core/files.ts";
import { packDataset } from "../dataset/index.ts";
import { loadProfile, withProcessLock } from "../launch/index.ts";
import { TERMINAL_STATES, type Run } from "../track/index.ts";
import { evaluateRun } from "./evaluate-run.ts";
import { followToSuccess } from "./follow.ts";
import { prepareTraining, pythonFor, type PreparedTraining } from "./prepare-training.ts";
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

async function pack(shop: Shop, name: string): Promise<void> {
  const { onProgress, project, signal, clock } = shop;
  onProgress({ type: "stage", stage: "pack", text: `data set ${name}` });
  const { lock, reused } = await packDataset({
    project,
    name,
    signal,
    clock,
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
  const prepareAs = async (runId: string): Promise<PreparedTraining> =>
    prepareTraining(shop, {
      recipe: request.recipe,
      folder: shop.project.root,
      set: [],
      profile: request.profile,
      runId,
      force: false,
    });
  const open = await openJournal(journalPath);
  if (open !== undefined) {
    const prepared = await prepareAs(open.runId);
    const present = shop.store.findRun(open.runId);
    if (present === undefined || present.recipeDigest === prepared.resolution.digest)
      return { runId: open.runId, prepared };
    await abandon(shop, present);
  }
  const fresh = freshRunId(shop, "quickstart");
  // Before the run exists: a kill right after this finds the same id again.
  await writeJson(journalPath, { schemaVersion: 1, runId: fresh, status: "open" } satisfies Journal);
  return { runId: fresh, prepared: await prepareAs(fresh) };
}

async function openJournal(path: string): Promise<Journal | undefined> {
  const text = await readIfExists(path);
  const journal = text === undefined ? undefined : parseJson(text, Journal, path);
  return journal?.status === "open" ? journal : undefined;
}

async function abandon(shop: Shop, present: Run): Promise<void> {
  shop.onProgress({
    type: "note",
    text: `recipe, data or code changed since run ${present.id}: a new run is started`,
  });
  if (!TERMINAL_STATES.includes(present.state)) await stopRun(shop, present.id, "now");
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
  } else if (["failed", "cancelled", "timed_out", "lost"].includes(present.state)) {
    shop.onProgress({ type: "note", text: `goes on after: ${present.reason}` });
    await resumeRun(shop, runId);
  }
  await followToSuccess(shop, runId);
}
