import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PreflightError, RemoteError, UserError } from "../../core/errors.ts";
import { exists, parseJson, readIfExists, syncFolder, writeAtomic } from "../../core/files.ts";
import { sha256 } from "../../core/hash.ts";
import { withProcessLock } from "../../core/process-lock.ts";
import { prepareState, type Project } from "../../core/project.ts";
import { lockFile, packedFolder } from "../places.ts";
import { DatasetLock, SPLITS } from "../schema.ts";
import { downloadAll, stagedPath } from "./download-all.ts";
import { isThere, readingWorld, requireInside, type HubAccess } from "./download-repository.ts";
import { readWhole } from "./read-whole.ts";
import { listFiles, resolveRevision } from "./hub-calls.ts";
import { readHubPin, writeHubPin } from "./hub-pin.ts";
import type { HubWorld } from "./hub-world.ts";
import { SPEC_PATH, specDigestAs, takeOverSpec } from "./published-spec.ts";
import { LOCK_PATH } from "./push-files.ts";
import type { RemoteFile } from "./remote-file.ts";
import { repoId } from "./repo-id.ts";

export interface PullOptions extends HubAccess {
  readonly project: Project;
  /** OWNER/NAME. */
  readonly repo: string;
  /** Branch, tag or commit; default `main`, looked up once. */
  readonly revision?: string;
  /** Name here; default the one in the repository's lock. Another name makes another lock digest. */
  readonly as?: string;
}

export interface PullResult {
  readonly name: string;
  readonly repo: string;
  /** The commit. */
  readonly revision: string;
  readonly lock: DatasetLock;
  readonly lockPath: string;
  readonly folder: string;
  /** Shards that came, and shards that were here already. */
  readonly downloaded: number;
  readonly reused: number;
  readonly bytes: number;
}

/**
 * Brings a data set that `pushDataset` published: every shard verified against the Hub's SHA-256, which must be the lock's.
 * Shards move to their place together, when all are there, and the lock follows: until then an older state stays whole. Killed at any
 * point, the same command goes on. PreflightErrors `REPO_HAS_NO_LOCK`, `DATASET_EXISTS`, `DISK_SPACE`; RemoteErrors
 * `REPO_INCONSISTENT`, `PATH_OUTSIDE`, `DOWNLOAD_FAILED`; HubFault.
 */
export const pullDataset = async (options: PullOptions): Promise<PullResult> => {
  const { project, revision = "main", signal } = options;
  const world = readingWorld(options);
  const repo = repoId(options.repo);
  await prepareState(project);
  const { commit } = await resolveRevision(world, repo, revision);
  const files = await listFiles(world, repo, commit);
  requireInside(repo, files);
  const published = await publishedLock(world, { repo, commit, files });
  const name = options.as ?? published.lock.name;
  requireName(name);
  const shards = shardsOf(published.lock, { repo, files });
  const locks = join(project.state, "datasets", "hub", `${name}.pull-lock`);
  const lock = { clock: world.clock, ...(signal ? { signal } : {}) };
  return withProcessLock(locks, lock, async () =>
    bring({
      options,
      world,
      repo,
      commit,
      branch: revision === commit ? null : revision,
      name,
      published,
      shards,
    }),
  );
};

interface Published {
  readonly lock: DatasetLock;
  readonly text: string;
  /** Text of the spec, if it was published. */
  readonly spec: string | undefined;
}

interface Bringing {
  readonly options: PullOptions;
  readonly world: HubWorld;
  readonly repo: string;
  readonly commit: string;
  readonly branch: string | null;
  readonly name: string;
  readonly published: Published;
  readonly shards: readonly RemoteFile[];
}

async function bring(bringing: Bringing): Promise<PullResult> {
  const { options, world, repo, commit, name, published, shards } = bringing;
  const { project, onProgress } = options;
  const { lock, text } = ownLock(bringing);
  const lockPath = lockFile(project, name);
  const before = await readIfExists(lockPath);
  const folder = packedFolder(project, name);
  const staging = join(project.datasets, "packed", `.pull-${name}`);
  // The staging folder is there when a pull was killed, perhaps while it moved shards to their place.
  if (!(await exists(staging))) await requireFree(project, { name, repo, text });
  const missing: RemoteFile[] = [];
  for (const shard of shards) if (!(await isThere(join(folder, shard.path), shard))) missing.push(shard);
  await downloadAll(world, { repo, commit, files: missing, staging, onProgress });
  onProgress?.({ phase: "check" });
  await moveIn(folder, { staging, missing, shards });
  if (published.spec !== undefined)
    await takeOverSpec(project, { text: published.spec, lock: published.lock, name, before });
  await writeAtomic(lockPath, text);
  await writeHubPin(project, name, {
    schemaVersion: 1,
    hub: world.hubUrl,
    repo,
    revision: commit,
    branch: bringing.branch,
    lockSha256: sha256(text),
  });
  await rm(staging, { recursive: true, force: true });
  const bytes = missing.reduce((sum, file) => sum + file.bytes, 0);
  const counts = { downloaded: missing.length, reused: shards.length - missing.length, bytes };
  return { name, repo, revision: commit, lock, lockPath, folder, ...counts };
}

// Byte for byte the published one, unless it is to have another name: then its spec has another digest as well.
function ownLock({ name, published }: Bringing): Omit<Published, "spec"> {
  if (name === published.lock.name) return published;
  const specDigest = specDigestAs(name, published.lock, published.spec);
  const lock = { ...published.lock, name, specDigest };
  return { lock, text: `${JSON.stringify(lock, null, 2)}\n` };
}

// All verified by now: from here on nothing waits for the network.
async function moveIn(
  folder: string,
  {
    staging,
    missing,
    shards,
  }: {
    readonly staging: string;
    readonly missing: readonly RemoteFile[];
    readonly shards: readonly RemoteFile[];
  },
): Promise<void> {
  await mkdir(join(folder, "data"), { recursive: true });
  for (const file of missing) {
    await mkdir(dirname(join(folder, file.path)), { recursive: true });
    await rename(stagedPath(staging, file), join(folder, file.path));
  }
  const wanted = new Set(shards.map(({ path }) => path));
  for (const name of await readdir(join(folder, "data")))
    if (name.endsWith(".parquet") && !wanted.has(`data/${name}`)) await rm(join(folder, "data", name));
  await syncFolder(join(folder, "data"));
}

async function publishedLock(
  world: HubWorld,
  {
    repo,
    commit,
    files,
  }: { readonly repo: string; readonly commit: string; readonly files: readonly RemoteFile[] },
): Promise<Published> {
  const file = files.find(({ path }) => path === LOCK_PATH);
  if (!file) {
    throw new PreflightError(
      "REPO_HAS_NO_LOCK",
      `${repo} was not pushed by this program: it has no ${LOCK_PATH}`,
      {
        hint: "a repository with other Parquet can be the source of a data set: see understudy dataset import --help",
      },
    );
  }
  const text = await readWhole(world, { repo, commit }, file);
  const specFile = files.find(({ path }) => path === SPEC_PATH);
  const spec = specFile && (await readWhole(world, { repo, commit }, specFile));
  return { text, lock: parseJson(text, DatasetLock, `${LOCK_PATH} of ${repo}`), spec };
}

// Its lock says which files are the data set; the repository must hold exactly those.
function shardsOf(
  lock: DatasetLock,
  { repo, files }: { readonly repo: string; readonly files: readonly RemoteFile[] },
): RemoteFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const shards: RemoteFile[] = [];
  const faults: string[] = [];
  for (const { path, bytes, sha256: wanted } of SPLITS.flatMap((split) => lock.splits[split].shards)) {
    const file = byPath.get(path);
    if (!file) faults.push(`  ${path} is not there`);
    else if (file.bytes !== bytes || (file.sha256 ?? wanted) !== wanted)
      faults.push(`  ${path} is another file`);
    // The lock's hash is the stronger one where the Hub keeps a small file in git.
    else shards.push({ ...file, sha256: wanted });
  }
  requireInside(repo, shards);
  if (faults.length === 0) return shards;
  throw new RemoteError(
    "REPO_INCONSISTENT",
    `The files of ${repo} are not what its lock says:\n${faults.join("\n")}`,
    {
      hint: "a push may be under way, or stopped half-way: finish it, or pull an older commit with --revision",
    },
  );
}

function requireName(name: string): void {
  if (/^[a-z0-9][a-z0-9-]*$/.test(name)) return;
  throw new UserError("DATASET_NAME_INVALID", `"${name}" cannot be the name of a data set`, {
    hint: "use small letters, digits and hyphens: --as NAME",
  });
}

// What was packed here is not written over; what came from that repository may become its newer state.
async function requireFree(
  project: Project,
  { name, repo, text }: { readonly name: string; readonly repo: string; readonly text: string },
): Promise<void> {
  const present = await readIfExists(lockFile(project, name));
  if (present === text) return;
  if (present === undefined) {
    if (!(await exists(join(packedFolder(project, name), "data")))) return;
    if (
      (await readdir(join(packedFolder(project, name), "data"))).every((file) => !file.endsWith(".parquet"))
    )
      return;
  } else {
    const pin = await readHubPin(project, name);
    if (pin?.repo === repo && pin.lockSha256 === sha256(present)) return;
  }
  throw new PreflightError("DATASET_EXISTS", `There is another data set "${name}" here already`, {
    hint: `give this one another name (--as NAME), or move datasets/${name}.lock.json and datasets/packed/${name} away`,
  });
}
