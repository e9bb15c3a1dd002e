import { join } from "node:path";
import { systemClock, type Clock } from "../../core/clock.ts";
import { RemoteError, UserError } from "../../core/errors.ts";
import { withProcessLock } from "../../core/process-lock.ts";
import { prepareState, type Project } from "../../core/project.ts";
import type { DatasetCard } from "../card/card.ts";
import type { DatasetLock } from "../schema.ts";
import { ensureRepository, findBranch, requireVisibility, type Visibility } from "./ensure-repository.ts";
import { findRepository, listFiles, type RepositoryState } from "./hub-calls.ts";
import { writeHubPin } from "./hub-pin.ts";
import type { HubProgress } from "./hub-progress.ts";
import type { HubWorld, RetryPolicy } from "./hub-world.ts";
import { commitBatch, isDone } from "./push-commit.ts";
import { pushFiles, type PushFiles } from "./push-files.ts";
import { journalFile, openPushJournal, type PushJournal } from "./push-journal.ts";
import { planPush, requireOurs, type PushPlan } from "./push-plan.ts";
import { hubTokenFrom, hubUrlFrom, repoId } from "./repo-id.ts";

export interface PushOptions {
  readonly project: Project;
  readonly name: string;
  /** OWNER/NAME. */
  readonly repo: string;
  /** The data set card. The same lock must give the same card, or every push would change it. */
  readonly card: (lock: DatasetLock) => Promise<DatasetCard>;
  /** Default true. A repository that exists keeps what it is; a public one is refused unless this is false. */
  readonly private?: boolean;
  /** Default `main`; made from the default branch when it is not there. */
  readonly branch?: string;
  /** Take over a repository whose data did not come from here. */
  readonly replace?: boolean;
  /** Look and plan; change nothing anywhere. */
  readonly dryRun?: boolean;
  /** Needed but for a dry run, which sees public repositories only without one. */
  readonly token: string | undefined;
  /** Address of the Hub (`HF_ENDPOINT`). */
  readonly endpoint?: string | undefined;
  readonly fetch: typeof fetch;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly policy?: Partial<RetryPolicy>;
  readonly onProgress?: (progress: HubProgress) => void;
}

export interface PushResult {
  readonly repo: string;
  readonly url: string;
  readonly branch: string;
  /** The commit that holds exactly this data set; null after a dry run. */
  readonly revision: string | null;
  readonly visibility: Visibility;
  /** Whether the repository is new (or, in a dry run, would be). */
  readonly created: boolean;
  /** False after a dry run without one: a private repository looks like none then. */
  readonly askedWithToken: boolean;
  readonly commits: number;
  /** Paths, as the last three. */
  readonly uploaded: readonly string[];
  readonly uploadBytes: number;
  readonly deleted: readonly string[];
  readonly unchanged: number;
}

/**
 * Publishes a packed data set: shards, then lock and card, in commits of at most 50 files, and checks in the end that the
 * repository says the right hash and size of each. Killed at any point, the same command goes on. UserErrors of
 * `pushFiles` and `HF_TOKEN_MISSING`; PreflightErrors `REPO_PUBLIC`, `REPO_NOT_OURS`; HubFault; RemoteErrors `REPO_MOVED`,
 * `PUSH_UNPROVEN`.
 */
export const pushDataset = async (options: PushOptions): Promise<PushResult> => {
  const { project, name, clock = systemClock, signal } = options;
  const target = {
    hubUrl: hubUrlFrom(options.endpoint),
    repo: repoId(options.repo),
    branch: options.branch ?? "main",
  };
  const token = hubTokenFrom(options.token);
  if (token === undefined && options.dryRun !== true)
    throw new UserError("HF_TOKEN_MISSING", "Pushing needs a token of the Hub", {
      hint: "set HF_TOKEN to one with write permission (https://huggingface.co/settings/tokens); it is never stored",
    });
  await prepareState(project);
  const files = await verifiedFiles(options);
  const world: HubWorld = { ...target, token, fetch: options.fetch, clock, signal, policy: options.policy };
  const scene = { options, target, files, world, clock };
  if (options.dryRun === true) return dryPush(scene);
  const locks = join(project.state, "datasets", "hub", `${name}.push-lock`);
  return withProcessLock(locks, { clock, ...(signal ? { signal } : {}) }, async () => push(scene));
};

interface Scene {
  readonly options: PushOptions;
  readonly target: { readonly hubUrl: string; readonly repo: string; readonly branch: string };
  readonly files: PushFiles;
  readonly world: HubWorld;
  readonly clock: Clock;
}

async function verifiedFiles({ project, name, card, signal, onProgress }: PushOptions): Promise<PushFiles> {
  const onVerified = (bytes: number, totalBytes: number): void =>
    onProgress?.({ phase: "verify", bytes, totalBytes });
  return pushFiles({ project, name, card, signal, onVerified });
}

async function dryPush(scene: Scene): Promise<PushResult> {
  const { target, files, world, options } = scene;
  const state = await findRepository(world, target.repo);
  if (state) requireVisibility(target.repo, state, visibilityOf(options));
  const head = state && (await findBranch(world, target.repo, target.branch));
  // A new branch starts as a copy of the default one.
  const commit = head?.commit ?? state?.commit;
  const present = commit === undefined ? [] : await listFiles(world, target.repo, commit);
  const plan = planPush(files, present);
  const journal = await journalOf(scene);
  if (options.replace !== true) requireOurs(target.repo, { present, owned: journal.owned }, plan);
  return resultOf(scene, { plan, state, created: state === undefined, revision: null });
}

async function push(scene: Scene): Promise<PushResult> {
  const { options, target, files, clock } = scene;
  const { onProgress } = options;
  const paused: HubWorld = {
    ...scene.world,
    onPause: (pause) => onProgress?.({ phase: "pause", ...pause }),
  };
  const state = await ensureRepository(paused, { ...target, visibility: visibilityOf(options) });
  const present = await listFiles(paused, target.repo, state.commit);
  const plan = planPush(files, present);
  const journal = await journalOf({ ...scene, clock });
  if (options.replace !== true) requireOurs(target.repo, { present, owned: journal.owned }, plan);
  await journal.plan(plan, files.lockSha256, [...files.shards, ...files.papers]);
  let sent = 0;
  const onSent = (bytes: number): void => {
    sent += bytes;
    onProgress?.({ phase: "upload", bytes: Math.min(sent, plan.uploadBytes), totalBytes: plan.uploadBytes });
  };
  const revision = await sendBatches(scene, { ...paused, onSent }, { plan, journal, head: state.commit });
  onProgress?.({ phase: "check" });
  await prove(paused, { repo: target.repo, commit: revision }, scene);
  await journal.verified(revision, files.lockSha256);
  await writeHubPin(options.project, options.name, {
    schemaVersion: 1,
    hub: target.hubUrl,
    repo: target.repo,
    revision,
    branch: target.branch,
    lockSha256: files.lockSha256,
  });
  return resultOf(scene, { plan, state, created: state.created, revision });
}

async function sendBatches(
  { target, options }: Scene,
  world: HubWorld,
  { plan, journal, head }: { readonly plan: PushPlan; readonly journal: PushJournal; readonly head: string },
): Promise<string> {
  let parent = head;
  const total = plan.batches.length;
  for (const [index, batch] of plan.batches.entries()) {
    const part = total === 1 ? "" : ` (${index + 1} of ${total})`;
    await journal.committing(parent, batch);
    const title = `Data set ${options.name}${part}`;
    parent = await commitBatch(world, { repo: target.repo, branch: target.branch, title }, { batch, parent });
    await journal.committed(parent, batch);
    options.onProgress?.({ phase: "commit", done: index + 1, total });
  }
  return parent;
}

// Not what we believe to have sent, but what the repository says it has: every path of the lock, and no other shard.
async function prove(
  world: HubWorld,
  at: { readonly repo: string; readonly commit: string },
  { files }: Scene,
): Promise<void> {
  const all = [...files.shards, ...files.papers];
  const { uploads, deletions } = planPush(files, await listFiles(world, at.repo, at.commit));
  if (uploads.length + deletions.length === 0 && (await isDone(world, at, { files: all, deletions: [] })))
    return;
  const wrong = [
    ...uploads.map(({ path }) => `  ${path} differs`),
    ...deletions.map((path) => `  ${path} is still there`),
  ];
  throw new RemoteError(
    "PUSH_UNPROVEN",
    `Commit ${at.commit} of ${at.repo} does not hold what was sent:\n${wrong.join("\n")}`,
    { hint: "run the same command again: it sends what differs" },
  );
}

const journalOf = async ({ options, target, clock }: Scene): Promise<PushJournal> =>
  openPushJournal(journalFile(options.project, options.name, target), clock);

const visibilityOf = (options: PushOptions): Visibility => (options.private === false ? "public" : "private");

function resultOf(
  { target, options, world }: Scene,
  {
    plan,
    state,
    created,
    revision,
  }: {
    readonly plan: PushPlan;
    readonly state: RepositoryState | undefined;
    readonly created: boolean;
    readonly revision: string | null;
  },
): PushResult {
  const isPrivate = state?.isPrivate ?? options.private !== false;
  return {
    repo: target.repo,
    url: `${target.hubUrl}/datasets/${target.repo}`,
    branch: target.branch,
    revision,
    visibility: isPrivate ? "private" : "public",
    created,
    askedWithToken: world.token !== undefined,
    commits: plan.batches.length,
    uploaded: plan.uploads.map(({ path }) => path),
    uploadBytes: plan.uploadBytes,
    deleted: plan.deletions,
    unchanged: plan.unchanged,
  };
}
