import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic } from "../core/files.ts";
import { sha256 } from "../core/hash.ts";
import { runProgram } from "../core/process.ts";
import type { RunLock } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

// Plain, whatever the person's own git is set to: `git apply` must be able to read it.
const DIFF = ["diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"];

/**
 * Commit and uncommitted changes of the project. The run's folder keeps `uncommitted.patch` for `git apply`, and the names of
 * files that git does not know in `untracked.txt`. Null outside of git; `dirty` null when git failed: never taken for clean.
 */
export const recordGit = async (
  shop: Pick<Shop, "environment" | "project">,
  runFolder: string,
): Promise<RunLock["git"]> => {
  const commit = await git(shop, ["rev-parse", "HEAD"]);
  if (commit === undefined) return null;
  const patch = await git(shop, DIFF);
  const untracked = await git(shop, ["ls-files", "--others", "--exclude-standard"]);
  if (patch === undefined || untracked === undefined) return { commit, dirty: null, patchSha256: null };
  if (patch === "" && untracked === "") return { commit, dirty: false, patchSha256: null };
  await mkdir(runFolder, { recursive: true });
  if (untracked !== "") await writeAtomic(join(runFolder, "untracked.txt"), `${untracked}\n`);
  if (patch === "") return { commit, dirty: true, patchSha256: null };
  // The line end that reading a program's output takes off.
  const text = `${patch}\n`;
  await writeAtomic(join(runFolder, "uncommitted.patch"), text);
  return { commit, dirty: true, patchSha256: sha256(text) };
};

async function git(
  { environment, project }: Pick<Shop, "environment" | "project">,
  args: readonly string[],
): Promise<string | undefined> {
  const { PATH, HOME } = environment;
  try {
    const result = await runProgram(["git", "-C", project.root, ...args], {
      env: { PATH, HOME },
      timeout: 60_000,
    });
    return result.exitCode === 0 ? result.stdout : undefined;
  } catch {
    // No git on this machine: the run is recorded without a commit.
    return undefined;
  }
}
