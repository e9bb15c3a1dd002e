import { RemoteError } from "../../core/errors.ts";
import { pathsInfo, resolveRevision } from "./hub-calls.ts";
import { HubFault } from "./hub-fault.ts";
import type { HubWorld } from "./hub-world.ts";
import { isSame } from "./push-files.ts";
import type { Batch } from "./push-plan.ts";
import { retryingFetch } from "./retrying-fetch.ts";
import { asHubError } from "./client-error.ts";

export interface CommitTarget {
  readonly repo: string;
  readonly branch: string;
  readonly title: string;
}

/** Times that a batch is taken up which surely was not committed. */
const MOST_COMMITS = 6;

/**
 * Uploads the contents of a batch that the Hub does not have yet, and makes one commit on top of `parent`. A commit whose
 * reply was lost is never sent blindly again: the branch is looked at first. Returns the new commit. Errors: HubFault;
 * RemoteError `REPO_MOVED` when someone else has committed meanwhile.
 */
export const commitBatch = async (
  world: HubWorld,
  target: CommitTarget,
  { batch, parent }: { readonly batch: Batch; readonly parent: string },
): Promise<string> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendCommit(world, target, { batch, parent });
    } catch (error) {
      if (!(error instanceof HubFault) || !(isOpenQuestion(error) || isStaleUpload(error))) throw error;
      const { commit: head } = await resolveRevision(world, target.repo, target.branch);
      if (head !== parent) {
        if (await isDone(world, { repo: target.repo, commit: head }, batch)) return head;
        throw moved(target, error);
      }
      if (attempt >= MOST_COMMITS) throw error;
      const milliseconds = Math.min(2000 * 2 ** attempt, 60_000);
      world.onPause?.({ milliseconds, reason: error.message });
      // The Hub may still be at it: should it finish later, the next one is refused by its parent, and looked at again.
      await world.clock.sleep(milliseconds, world.signal);
    }
  }
};

// No reply, or one that says the branch has moved: by us, perhaps.
const isOpenQuestion = ({ code, fault: { status } }: HubFault): boolean =>
  code === "HUB_COMMIT_UNSURE" || status === 412 || status === 409;

// A signed link that ran out while others were used, or a multipart upload that was completed though its reply was lost:
// the next list of uploads has new links, and leaves out what has arrived.
const isStaleUpload = ({ fault: { isUpload, status } }: HubFault): boolean =>
  isUpload && [403, 404, 410].includes(status ?? 0);

/** True when a commit holds every file of the batch and none of what it deletes. */
export const isDone = async (
  world: HubWorld,
  at: { readonly repo: string; readonly commit: string },
  { files, deletions }: Batch,
): Promise<boolean> => {
  const found = await pathsInfo(world, at, [...files.map(({ path }) => path), ...deletions]);
  return (
    files.every((file) => isSame(file, found.get(file.path))) && !deletions.some((path) => found.has(path))
  );
};

async function sendCommit(
  world: HubWorld,
  { repo, branch, title }: CommitTarget,
  { batch, parent }: { readonly batch: Batch; readonly parent: string },
): Promise<string> {
  const { commit } = await import("@huggingface/hub");
  const done = await asHubError(
    commit({
      repo: { type: "dataset", name: repo },
      branch,
      parentCommit: parent,
      title,
      operations: [
        ...batch.files.map(({ path, content }) => ({ operation: "addOrUpdate" as const, path, content })),
        ...batch.deletions.map((path) => ({ operation: "delete" as const, path })),
      ],
      // Plain LFS: every upload is checked by its SHA-256 on both sides, and can be sent again part by part.
      useXet: false,
      hubUrl: world.hubUrl,
      fetch: retryingFetch(world),
      ...(world.token === undefined ? {} : { accessToken: world.token }),
      ...(world.signal === undefined ? {} : { abortSignal: world.signal }),
    }),
  );
  if (done !== undefined && /^[0-9a-f]{40,64}$/.test(done.commit.oid)) return done.commit.oid;
  throw new RemoteError("HUB_REPLY", `The Hub did not say which commit it made in ${repo}`);
}

function moved({ repo, branch }: CommitTarget, cause: HubFault): RemoteError {
  return new RemoteError(
    "REPO_MOVED",
    `Someone else changed ${branch} of ${repo} while this push was under way`,
    {
      hint: "look at what they changed, then run the same command again: what was uploaded is not sent twice",
      cause,
    },
  );
}
