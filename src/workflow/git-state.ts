import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic } from "../core/files.ts";
import { sha256 } from "../core/hash.ts";
import { runProgram } from "../core/process.ts";
import type { RunLock } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

/** Commit and uncommitted changes of the project; the patch is kept in the run's folder. Null outside of git. */
export const recordGit = async (shop: Shop, runFolder: string): Promise<RunLock["git"]> => {
  const commit = await git(shop, ["rev-parse", "HEAD"]);
  if (commit === undefined) return null;
  const patch = (await git(shop, ["diff", "--binary", "HEAD"])) ?? "";
  if (patch === "") return { commit, dirty: false, patchSha256: null };
  await mkdir(runFolder, { recursive: true });
  await writeAtomic(join(runFolder, "uncommitted.patch"), `${patch}\n`);
  return { commit, dirty: true, patchSha256: sha256(`${patch}\n`) };
};

async function git(shop: Shop, args: readonly string[]): Promise<string | undefined> {
  const { PATH, HOME } = shop.environment;
  try {
    const result = await runProgram(["git", "-C", shop.project.root, ...args], {
      env: { PATH, HOME },
      timeout: 30_000,
    });
    return result.exitCode === 0 ? result.stdout.trim() : undefined;
  } catch {
    // No git on this machine: the run is recorded without a commit.
    return undefined;
  }
}
