import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { exists, syncFolder } from "../core/files.ts";
import type { ArtifactStore } from "../launch/index.ts";
import type { Run } from "../track/index.ts";
import { TASKS } from "./evaluation-place.ts";
import { DONE, type taskProof } from "./proof.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";

/** Folder of a task on this machine. */
type Task = Pick<Parameters<typeof taskProof>[0], "folder">;

/**
 * Brings the finished tasks of a job that ran elsewhere to this machine: whole folders, each under its final name only when all
 * of it is here. What is here already is left alone; what stopped half-way goes on.
 */
export const collectRows = async (shop: Shop, run: Run, tasks: readonly Task[]): Promise<void> => {
  if (lockOf(run).job.profile.kind === "local") return;
  const ref = shop.store.attempts(run.id).flatMap(refsOf).at(-1);
  if (ref === undefined) return;
  const artifacts = (await launcherOf(shop, run)).artifacts(ref);
  for (const { folder } of tasks) await collectTask(shop, artifacts, folder);
};

async function collectTask(shop: Shop, artifacts: ArtifactStore, folder: string): Promise<void> {
  if (await exists(folder)) return;
  const far = `${TASKS}/${basename(folder)}`;
  const files = await artifacts.list(far);
  // Not this job's, or not finished there.
  if (!files.some(({ path }) => path === `${far}/${DONE}`)) return;
  const staged = `${folder}.part`;
  let done = 0;
  for (const { path } of files) {
    shop.signal.throwIfAborted();
    const to = join(staged, path.slice(far.length + 1));
    if (!(await exists(to))) await artifacts.download(path, to, { signal: shop.signal });
    done += 1;
    shop.onProgress({ type: "work", text: "files fetched", done, total: files.length });
  }
  await rename(staged, folder);
  await syncFolder(dirname(folder));
}

/** Forgets half-fetched copies of tasks whose rows are about to be made anew. */
export const forgetHalves = async (tasks: readonly Task[]): Promise<void> => {
  for (const { folder } of tasks) await rm(`${folder}.part`, { recursive: true, force: true });
};
