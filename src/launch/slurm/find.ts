import type { Clock } from "../../core/clock.ts";
import type { Finding, Plan, RefOf } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import { CLOCK_TOLERANCE, linkOf, ownership } from "./identity.ts";
import { readRefusal } from "./refusals.ts";
import { parseReply } from "./reply.ts";
import { linksOf } from "./sbatch.ts";
import { SBATCH_SECONDS } from "./run-link.ts";
import type { AccountedJob } from "./sacct.ts";
import { lookAtSubmission, type LinkRecord, type SubmissionRecord } from "./submission.ts";
import type { QueueWatch } from "./watch-queue.ts";

export type SlurmRef = RefOf<"slurm">;

// Nothing of the submission is on the disk: how far back a job of that name is looked for.
const UNRECORDED_SECONDS = 2 * 86_400;
// sbatch is over by then, wherever it ran, and the accounts have heard of its job.
const SETTLED_SECONDS = SBATCH_SECONDS + 30;
// A controller that was hung works off what had been sent to it before it lists it.
const SECOND_LOOK_SECONDS = 10;

/** What is known of a submission, and whether that is all there can be. */
export interface FoundJobs {
  readonly ref: SlurmRef | undefined;
  /** Links of the plan that certainly are no job. */
  readonly absent: readonly number[];
  /** Why some links may still turn up, or undefined when none can. */
  readonly doubt: string | undefined;
}

export interface FindWorld {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Where this profile's jobs may be. */
  readonly clusters: readonly Pick<QueueWatch, "name" | "queue" | "accounts">[];
  readonly deadlineSeconds: number;
  /** Marker → when the queue was first seen without it (milliseconds since the epoch); kept by the launcher. */
  readonly firstWithout: Map<string, number>;
}

/**
 * Looks for the jobs of a plan by marker: what sbatch left on the far disk, claims, queue and accounts. `none` is said only
 * when each of them could be asked and enough time has passed; with jobs while another link may still turn up, `found` has a doubt. Queue and
 * accounts are those of the shared poll, unless something was submitted after it.
 */
export const findSlurm = async (plan: Plan, world: FindWorld): Promise<Finding> => {
  const found = await findJobs(plan, world);
  if (typeof found === "string") return { outcome: "unavailable", reason: found };
  const { ref, doubt } = found;
  if (doubt !== undefined) {
    // A link that turns up later would run an attempt that nobody here knows.
    return ref === undefined
      ? { outcome: "unavailable", reason: doubt }
      : { outcome: "found", refs: [ref], doubt };
  }
  if (ref !== undefined) {
    const incomplete = linksOf(plan) - new Set(ref.jobs.map(({ link }) => link)).size;
    return { outcome: "found", refs: [ref], ...(incomplete === 0 ? {} : { missingLinks: incomplete }) };
  }
  return { outcome: "none" };
};

/** The same for `submit`, which may go on with what is absent. A string: why nothing can be said. */
export const findJobs = async (plan: Plan, world: FindWorld): Promise<FoundJobs | string> => {
  const first = await lookAtSubmission(world.transport, plan, world.deadlineSeconds);
  if (!first.worked) return first.why;
  const seen = new Map<string, Job>();
  const notBefore = lastBegun(first.record, world.clock.now());
  let queueAt = Infinity;
  for (const cluster of world.clusters) {
    const answer = await searchCluster(cluster, {
      plan,
      seen,
      begunAt: first.record.begunAt,
      now: first.record.now,
      notBefore,
    });
    if (typeof answer === "string") return answer;
    queueAt = Math.min(queueAt, answer);
  }
  // An sbatch that was under way may have ended meanwhile.
  const isUnderWay = [...first.record.links.values()].some(({ code }) => code === null);
  const last = isUnderWay ? await lookAtSubmission(world.transport, plan, world.deadlineSeconds) : first;
  if (!last.worked) return last.why;
  const { record } = last;
  addRecorded(record, seen);
  const jobs = [...seen.values()];
  const numbers = new Set(jobs.map(({ link }) => link));
  const missing = Array.from({ length: linksOf(plan) }, (_, index) => index + 1).filter(
    (link) => !numbers.has(link),
  );
  // What the queue did not list counts as of when it was looked at.
  const staleSeconds = (world.clock.now() - queueAt) / 1000;
  const doubts = missing.map((link) =>
    doubtOf(record.links.get(link), { claim: record.claims.get(link), staleSeconds }),
  );
  const doubt =
    doubts.find((text) => text !== undefined) ??
    secondLook(plan, record, { missing, queueAt, firstWithout: world.firstWithout });
  return {
    ref: jobs.length === 0 ? undefined : refOf(plan, jobs, begunAtOf(record, jobs)),
    absent: missing.filter((_, index) => doubts[index] === undefined && doubt === undefined),
    doubt,
  };
};

interface Job {
  readonly id: string;
  readonly link: number;
  readonly cluster: string | null;
  /** Seconds since the epoch there. */
  readonly submit?: number | null;
}

/** When the first link was begun, or some time before that, in milliseconds since the epoch there. */
function begunAtOf({ begunAt, now }: SubmissionRecord, jobs: readonly Job[]): number {
  if (begunAt !== null) return begunAt;
  return Math.min(now - UNRECORDED_SECONDS, ...jobs.flatMap(({ submit }) => submit ?? [])) * 1000;
}

interface Search {
  readonly plan: Plan;
  readonly seen: Map<string, Job>;
  /** Milliseconds since the epoch there, when the first link was begun; null when nobody noted it. */
  readonly begunAt: number | null;
  /** Seconds since the epoch there. */
  readonly now: number;
  /** Milliseconds since the epoch here: an older look at the queue cannot know the newest link. */
  readonly notBefore: number;
}

type Searched = FindWorld["clusters"][number];

/** When the newest link was begun, in milliseconds since the epoch here; 0 when none was. */
function lastBegun({ links }: SubmissionRecord, now: number): number {
  const ages = [...links.values()].map(({ age }) => age);
  return ages.length === 0 ? 0 : now - Math.min(...ages) * 1000;
}

/** When the queue was looked at, or why nothing can be said. */
async function searchCluster(cluster: Searched, search: Search): Promise<string | number> {
  const { plan, seen } = search;
  const { looked, at } = await cluster.queue(search.notBefore);
  if (!looked.worked) return looked.why;
  const earliest = (search.begunAt ?? 0) / 1000 - CLOCK_TOLERANCE;
  for (const { id, comment, submit } of looked.rows.filter(
    (row) => row.name === plan.attempt.marker && (row.submit ?? Infinity) >= earliest,
  )) {
    seen.set(id, { id, link: linkOf(comment)?.link ?? 1, cluster: cluster.name, submit });
  }
  // All links are in the queue: whatever the accounts say, there are no others.
  if (seen.size >= linksOf(plan)) return at;
  if (!looked.whole && seen.size === 0) return "squeue printed a line that cannot be read";
  return (await searchAccounts(cluster, at, search)) ?? at;
}

async function searchAccounts(
  cluster: Searched,
  queueAt: number,
  { plan, seen, begunAt, now }: Search,
): Promise<string | undefined> {
  const { marker } = plan.attempt;
  // By the clock there alone: this machine's may be hours off.
  const sinceSeconds = begunAt === null ? UNRECORDED_SECONDS : now - begunAt / 1000 + CLOCK_TOLERANCE;
  // What has left the queue before that look is in accounts that are asked after it.
  const accounts = await cluster.accounts(queueAt, sinceSeconds);
  if (accounts === "none") return undefined;
  if (!accounts.worked) return accounts.why;
  const own = accounts.rows.filter(
    (row) => row.name === marker && ownership(row, marker, begunAt ?? 0) === "ours",
  );
  for (const row of own) addUnnumbered(row, cluster, seen);
  return undefined;
}

// The accounts keep no comment by default: links were submitted in their order.
function addUnnumbered({ id, submit }: AccountedJob, cluster: Searched, seen: Map<string, Job>): void {
  if (seen.has(id)) return;
  const taken = new Set([...seen.values()].map(({ link }) => link));
  let link = 1;
  while (taken.has(link)) link += 1;
  seen.set(id, { id, link, cluster: cluster.name, submit });
}

function addRecorded(record: SubmissionRecord, seen: Map<string, Job>): void {
  for (const [link, { code, stdout }] of record.links) {
    const reply = code === 0 ? parseReply(stdout) : undefined;
    if (reply !== undefined) seen.set(reply.id, { ...reply, link });
  }
  for (const [link, owner] of record.claims) {
    if (/^\d+$/.test(owner)) seen.set(owner, { cluster: null, ...seen.get(owner), id: owner, link });
  }
}

/** Why a link that nobody lists may be a job all the same. */
function doubtOf(
  record: LinkRecord | undefined,
  { claim, staleSeconds }: { readonly claim: string | undefined; readonly staleSeconds: number },
): string | undefined {
  if (claim !== undefined) return "a job has claimed the marker and has not said its name yet";
  if (record === undefined) return undefined;
  if (record.code !== null && record.code !== 0) {
    const { kind } = readRefusal(record.code, record.stderr);
    if (kind !== "ambiguous") return undefined;
  }
  if (record.age - staleSeconds >= SETTLED_SECONDS) return undefined;
  return `sbatch was called ${record.age} s ago and its answer is lost; it counts as refused after ${SETTLED_SECONDS} s`;
}

function secondLook(
  { attempt: { marker } }: Plan,
  { links }: SubmissionRecord,
  {
    missing,
    queueAt,
    firstWithout,
  }: Pick<FindWorld, "firstWithout"> & { readonly missing: readonly number[]; readonly queueAt: number },
): string | undefined {
  const isLost = (link: number): boolean => {
    const record = links.get(link);
    if (record === undefined) return false;
    const { code, stderr } = record;
    return code === null || code === 0 || readRefusal(code, stderr).kind === "ambiguous";
  };
  if (!missing.some(isLost)) return undefined;
  const first = firstWithout.get(marker);
  if (first === undefined) firstWithout.set(marker, queueAt);
  return queueAt - (first ?? queueAt) >= SECOND_LOOK_SECONDS * 1000
    ? undefined
    : "the queue does not list it; that counts when it still does not a little later";
}

/** How the jobs of a plan are found again. */
export const refOf = (
  plan: Plan,
  jobs: readonly { readonly id: string; readonly link: number; readonly cluster: string | null }[],
  submittedAt: number,
): SlurmRef => ({
  kind: "slurm",
  marker: plan.attempt.marker,
  folder: plan.cwd,
  cluster: jobs.find(({ cluster }) => cluster !== null)?.cluster ?? null,
  jobs: jobs
    .toSorted((a, b) => a.link - b.link || Number(a.id) - Number(b.id))
    .map(({ id, link }) => ({ id, link })),
  submittedAt,
  token: plan.attempt.token,
});
