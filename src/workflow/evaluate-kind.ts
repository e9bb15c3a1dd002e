import { rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { InternalError, UserError } from "../core/errors.ts";
import { exists, syncFolder } from "../core/files.ts";
import type { DatasetLock } from "../dataset/index.ts";
import type { Recipe } from "../recipe/index.ts";
import { TERMINAL_STATES, type Run } from "../track/index.ts";
import { evaluationManifest, openTasks, type EvaluationKind, type OpenTask } from "./evaluation-jobs.ts";
import { placeEvaluation } from "./evaluation-place.ts";
import { collectRows, forgetHalves } from "./evaluation-rows.ts";
import type { PlannedCell } from "./evaluation-tasks.ts";
import { followRun, followToSuccess } from "./follow.ts";
import type { PayloadSnapshot } from "./payload-snapshot.ts";
import { checkJob } from "./check-job.ts";
import { DONE } from "./proof.ts";
import { lockOf, type RunLock } from "./run-lock.ts";
import { resumeRun, startRun } from "./runs.ts";
import type { Shop } from "./shop.ts";
import { refsOf } from "./submit.ts";

/** What is evaluated, and with what. */
export interface EvaluationSubject {
  /** The finished training run. */
  readonly run: Run;
  readonly lock: RunLock;
  readonly recipe: Recipe;
  readonly data: DatasetLock;
  readonly model: { readonly path: string; readonly revision: string };
  readonly payload: PayloadSnapshot;
  readonly python: string;
  readonly cells: readonly PlannedCell[];
}

/**
 * Brings all tasks of one kind to their proof. Whatever run works on one of them is waited for first: two jobs that append
 * to one folder would spoil it. A run of ours that ended short is gone on with; else one is started for what is missing.
 */
export const evaluateKind = async (
  shop: Shop,
  subject: EvaluationSubject,
  kind: EvaluationKind,
): Promise<void> => {
  await finishLive(shop, subject, kind);
  const missing = await openTasks(kind, subject.cells);
  if (missing.length === 0) return;
  await setAsideChanged(shop, missing);
  const children = shop.store.listRuns({ kind }).filter(({ parentId }) => parentId === subject.run.id);
  const tasks = await fetched(shop, subject, { kind, missing, children });
  if (tasks.length === 0) return;
  const short = children.find((child) => child.state !== "succeeded" && covers(child, tasks));
  if (short?.state === "lost") throw lost(short);
  const child = short
    ? await resumeRun(shop, short.id)
    : await startKind(shop, subject, { kind, tasks, number: children.length + 1 });
  const done = await followToSuccess(shop, child.id);
  await collectRows(
    shop,
    done,
    tasks.map(({ proof }) => proof),
  );
  if ((await openTasks(kind, subject.cells)).length === 0) return;
  throw new InternalError("ROWS_LOST", `Run ${child.id} succeeded, but its rows are not what it wrote`, {
    hint: "is another program changing the evaluations folder in the state folder?",
  });
};

/** Nobody knows whether the job of a lost run still works: another attempt beside it is for a person to decide. */
export const lost = ({ id, reason }: Pick<Run, "id" | "reason">): UserError =>
  new UserError("RUN_LOST", `It is not known what has become of run ${id}: ${reason}`, {
    hint: `look at its machine, then either understudy run resume ${id}, or understudy run settle ${id}`,
  });

// A job that ran elsewhere may have succeeded without its rows having been fetched.
async function fetched(
  shop: Shop,
  { cells }: EvaluationSubject,
  work: {
    readonly kind: EvaluationKind;
    readonly missing: readonly OpenTask[];
    readonly children: readonly Run[];
  },
): Promise<readonly OpenTask[]> {
  const folders = work.missing.map(({ proof }) => proof);
  for (const child of work.children.filter(({ state }) => state === "succeeded"))
    await collectRows(shop, child, folders);
  const left = await openTasks(work.kind, cells);
  await forgetHalves(left.map(({ proof }) => proof));
  return left;
}

// Our own too when all its tasks are done: the job may have ended while nobody looked, and its record must say so.
async function finishLive(
  shop: Shop,
  { run, cells }: EvaluationSubject,
  kind: EvaluationKind,
): Promise<void> {
  const tasks = await openTasks(kind, cells);
  const concerns = (one: Run): boolean =>
    one.parentId === run.id || foldersOf(one).some((folder) => isAmong(folder, tasks));
  const live = shop.store
    .listRuns({ kind })
    .filter((one) => !TERMINAL_STATES.includes(one.state) && concerns(one));
  for (const { id } of live.toReversed()) await followRun(shop, id);
}

/** The folders of rows that a run works on. */
export const foldersOf = (run: Run): readonly string[] => {
  const { proof } = lockOf(run);
  return proof.kind === "tasks" ? proof.tasks.map(({ folder }) => folder) : [];
};

// A task's folder has the digest of its content as its name, on every machine.
const isAmong = (folder: string, tasks: readonly OpenTask[]): boolean =>
  tasks.some(({ proof }) => basename(proof.folder) === basename(folder));

// One for other tasks has other folders and is left alone.
function covers(run: Run, tasks: readonly OpenTask[]): boolean {
  const own = new Set(foldersOf(run).map((folder) => basename(folder)));
  return tasks.every(({ proof }) => own.has(basename(proof.folder)));
}

// The payload skips what says that it is finished, so rows that changed afterwards would never be written anew.
async function setAsideChanged(shop: Shop, tasks: readonly OpenTask[]): Promise<void> {
  for (const { proof, problem } of tasks) {
    if (!(await exists(join(proof.folder, DONE)))) continue;
    const aside = await freeName(`${proof.folder}.changed`);
    shop.onProgress({ type: "note", text: `${problem}: it is set aside as ${aside} and done again` });
    await rename(proof.folder, aside);
    await syncFolder(join(proof.folder, ".."));
  }
}

async function freeName(wanted: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = `${wanted}-${number}`;
    if (!(await exists(name))) return name;
  }
}

async function startKind(
  shop: Shop,
  subject: EvaluationSubject,
  work: { readonly kind: EvaluationKind; readonly tasks: readonly OpenTask[]; readonly number: number },
): Promise<Run> {
  const { run, lock, recipe, cells } = subject;
  const { kind } = work;
  const id = `${run.id}-${kind}-${work.number}`;
  const rows = cells.reduce((sum, { planned }) => sum + planned.expected.length, 0);
  const trainedOn = shop.store.attempts(run.id).flatMap(refsOf).at(-1);
  const { model, device, at, ...places } = await placeEvaluation(shop, { ...subject, kind, id, trainedOn });
  const tasks = work.tasks.map(at);
  const job = {
    ...places,
    kind,
    runId: id,
    manifest: evaluationManifest(kind, { recipe, model, device, run: id, tasks }),
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
