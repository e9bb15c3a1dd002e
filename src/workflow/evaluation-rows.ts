import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { exists, syncFolder } from "../core/files.ts";
import { downloadAll, type ArtifactStore } from "../launch/index.ts";
import type { Run } from "../track/index.ts";
import { TASKS } from "./evaluation-place.ts";
import { DONE, taskProof } from "./proof.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";

/** A task with its folder on this machine. */
type Task = Parameters<typeof taskProof>[0];

/**
 * Brings the finished tasks of a job that ran elsewhere to this machine: whole folders, each under its final name only when all
 * of it is here and is what it says. What is here already is left alone; what stopped half-way goes on; what has changed over
 * there since is told and left there, to be made anew.
 */
export const collectRows = async (shop: Shop, run: Run, tasks: readonly Task[]): Promise<void> => {
  if (lockOf(run).job.profile.kind === "local") return;
  const ref = shop.store.attempts(run.id).flatMap(refsOf).at(-1);
  if (ref === undefined) return;
  const artifacts = (await launcherOf(shop, run)).artifacts(ref);
  for (const task of tasks) await collectTask(shop, artifacts, task);
};

async function collectTask(shop: Shop, artifacts: ArtifactStore, task: Task): Promise<void> {
  const { folder } = task;
  if (await exists(folder)) return;
  const far = `${TASKS}/${basename(folder)}`;
  const files = await artifacts.list(far);
  // Not this job's, or not finished there.
  if (!files.some(({ path }) => path === `${far}/${DONE}`)) return;
  const staged = `${folder}.part`;
  // In a bucket any text is a name; here it would be a way out of the folder.
  const wanted = files
    .filter(({ path }) => !path.split("/").includes(".."))
    .map(({ path, bytes }) => ({ path, bytes, to: join(staged, path.slice(far.length + 1)) }));
  await downloadAll(artifacts, wanted, {
    signal: shop.signal,
    onFile: (done) => shop.onProgress({ type: "work", text: "files fetched", done, total: wanted.length }),
  });
  const { holds, detail } = await taskProof({ ...task, folder: staged });
  if (!holds) {
    await rm(staged, { recursive: true, force: true });
    shop.onProgress({ type: "note", text: `what came from where it ran is left out: ${detail}` });
    return;
  }
  await rename(staged, folder);
  await syncFolder(dirname(folder));
}

/** Forgets half-fetched copies of tasks whose rows are about to be made anew. */
export const forgetHalves = async (tasks: readonly Pick<Task, "folder">[]): Promise<void> => {
  for (const { folder } of tasks) await rm(`${folder}.part`, { recursive: true, force: true });
};
