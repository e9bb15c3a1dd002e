import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { systemClock, type Clock } from "../../core/clock.ts";
import { RemoteError, systemCode } from "../../core/errors.ts";
import { withProcessLock } from "../../core/process-lock.ts";
import { downloadAll } from "./download-all.ts";
import { listFiles, resolveRevision } from "./hub-calls.ts";
import type { HubProgress } from "./hub-progress.ts";
import type { HubWorld, RetryPolicy } from "./hub-world.ts";
import { expectedDigest, hasherFor, type RemoteFile } from "./remote-file.ts";
import { hubTokenFrom, hubUrlFrom, isInside, repoId } from "./repo-id.ts";

export interface HubAccess {
  /** Undefined reads public repositories only. */
  readonly token: string | undefined;
  /** Address of the Hub (`HF_ENDPOINT`). */
  readonly endpoint?: string | undefined;
  readonly fetch: typeof fetch;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly policy?: Partial<RetryPolicy>;
  readonly onProgress?: (progress: HubProgress) => void;
}

export interface RepositoryDownload extends HubAccess {
  /** OWNER/NAME. */
  readonly repo: string;
  /** Branch, tag or commit; default `main`. It is looked up once: everything comes from the commit it stands for then. */
  readonly revision?: string;
  /** Folder that the files are put into, under the paths they have in the repository. */
  readonly folder: string;
  /** Which files; default all. */
  readonly include?: (path: string) => boolean;
}

export interface DownloadedRepository {
  readonly repo: string;
  /** The commit. */
  readonly revision: string;
  readonly files: readonly RemoteFile[];
}

/**
 * Downloads a data set repository, or a part of it, as a source of an import: verified, resumable, a file appears under its name only
 * when it is whole. Files that are there already and right are not fetched. Two processes take turns. Errors: UserErrors
 * `REPO_INVALID`, `HF_TOKEN_INVALID`; HubFault; `PATH_OUTSIDE`; those of `downloadAll`.
 */
export const downloadRepository = async (options: RepositoryDownload): Promise<DownloadedRepository> => {
  const { folder, revision = "main", include = () => true, signal, onProgress } = options;
  const world = readingWorld(options);
  const repo = repoId(options.repo);
  const { commit } = await resolveRevision(world, repo, revision);
  const files = (await listFiles(world, repo, commit)).filter(({ path }) => include(path));
  requireInside(repo, files);
  const staging = join(folder, STAGING);
  await withProcessLock(
    join(staging, "lock"),
    { clock: world.clock, ...(signal ? { signal } : {}) },
    async () => {
      const missing: RemoteFile[] = [];
      for (const file of files) if (!(await isThere(join(folder, file.path), file))) missing.push(file);
      const onDone = async ({ path }: RemoteFile, staged: string): Promise<void> => {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await rename(staged, join(folder, path));
      };
      await downloadAll(world, { repo, commit, files: missing, staging, onProgress, onDone });
      // Parts of other revisions; the lock's own folder stays, someone may be waiting in it.
      for (const name of await readdir(staging))
        if (name !== "lock") await rm(join(staging, name), { force: true });
    },
  );
  return { repo, revision: commit, files };
};

/** Hidden, so that no reader of the folder takes it for data. */
const STAGING = ".understudy-download";

/** What calls that only read need. */
export const readingWorld = ({ onProgress, ...access }: HubAccess): HubWorld => ({
  hubUrl: hubUrlFrom(access.endpoint),
  token: hubTokenFrom(access.token),
  fetch: access.fetch,
  clock: access.clock ?? systemClock,
  signal: access.signal,
  policy: access.policy,
  onPause: (pause) => onProgress?.({ phase: "pause", ...pause }),
});

/** RemoteError `PATH_OUTSIDE` when a path of the repository would lead out of the folder it is put into. */
export const requireInside = (repo: string, files: readonly RemoteFile[]): void => {
  const outside = files.find(({ path }) => !isInside(path) || path.split("/")[0] === STAGING);
  if (outside === undefined) return;
  throw new RemoteError(
    "PATH_OUTSIDE",
    `${repo} has a file whose path leads out of its folder: ${outside.path}`,
    {
      hint: "nothing was downloaded; do not trust this repository",
    },
  );
};

/** True when the file is on disk with the size and hash that the repository says. */
export const isThere = async (path: string, file: RemoteFile): Promise<boolean> => {
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size !== file.bytes) return false;
    const hash = hasherFor(file);
    await pipeline(createReadStream(path), hash);
    return hash.digest("hex") === expectedDigest(file);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return false;
    throw error;
  }
};
