import { PreflightError } from "../../core/errors.ts";
import { asHubError } from "./client-error.ts";
import { findRepository, resolveRevision, type RepositoryState } from "./hub-calls.ts";
import { statusOf } from "./hub-fault.ts";
import type { HubWorld } from "./hub-world.ts";
import { retryingFetch } from "./retrying-fetch.ts";

export type Visibility = "private" | "public";

export interface Wanted {
  readonly repo: string;
  readonly branch: string;
  readonly visibility: Visibility;
}

/**
 * The branch to push to, made with its repository where they are not there yet; a repository that exists keeps its
 * visibility. HubFault; PreflightError `REPO_PUBLIC`: what is private by default never goes to where everyone reads.
 */
export const ensureRepository = async (
  world: HubWorld,
  { repo, branch, visibility }: Wanted,
): Promise<RepositoryState & { readonly created: boolean }> => {
  const found = await findRepository(world, repo);
  if (!found) await createRepository(world, repo, visibility);
  const state = found ?? (await resolveRevision(world, repo, "main"));
  requireVisibility(repo, state, visibility);
  const { commit } = (await findBranch(world, repo, branch)) ?? (await createBranch(world, repo, branch));
  return { ...state, commit, created: found === undefined };
};

/** PreflightError `REPO_PUBLIC` when the repository is open to all, and that was not asked for. */
export const requireVisibility = (repo: string, { isPrivate }: RepositoryState, wanted: Visibility): void => {
  if (wanted === "public" || isPrivate !== false) return;
  throw new PreflightError(
    "REPO_PUBLIC",
    `The repository ${repo} is public: everyone could read the data set`,
    {
      hint: "add --public if that is meant, or make the repository private on its page first",
    },
  );
};

/** The branch; undefined when the repository has no such. */
export const findBranch = async (
  world: HubWorld,
  repo: string,
  branch: string,
): Promise<RepositoryState | undefined> => {
  try {
    return await resolveRevision(world, repo, branch);
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
};

// 409: made meanwhile, or by a request whose reply was lost. 403: it is there, and its owner lets us write, not create.
async function createRepository(world: HubWorld, repo: string, visibility: Visibility): Promise<void> {
  const { createRepo } = await import("@huggingface/hub");
  try {
    await asHubError(
      createRepo({
        repo: { type: "dataset", name: repo },
        visibility,
        hubUrl: world.hubUrl,
        fetch: retryingFetch(world),
        accessToken: world.token ?? "",
      }),
    );
  } catch (error) {
    if (statusOf(error) !== 409 && statusOf(error) !== 403) throw error;
    if (!(await findRepository(world, repo))) throw error;
  }
}

async function createBranch(world: HubWorld, repo: string, branch: string): Promise<RepositoryState> {
  const { createBranch: create } = await import("@huggingface/hub");
  try {
    await asHubError(
      create({
        repo: { type: "dataset", name: repo },
        branch,
        hubUrl: world.hubUrl,
        fetch: retryingFetch(world),
        ...(world.token === undefined ? {} : { accessToken: world.token }),
      }),
    );
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
  return resolveRevision(world, repo, branch);
}
