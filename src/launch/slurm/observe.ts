import { posix } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { layoutAt } from "../attempt-layout.ts";
import { jobKey, type JobKey, type Observation, type RefOf } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import { attemptEvidence } from "./attempt-evidence.ts";
import type { Cluster, QueueLook } from "./cluster.ts";
import { askEvidence, type Evidence, type RunPlace } from "./far-evidence.ts";
import { CLOCK_TOLERANCE, numberOf, ownership } from "./identity.ts";
import { judge } from "./judge.ts";
import { withLateJobs, withTwins } from "./late-jobs.ts";
import { sweepSecrets } from "./secrets.ts";
import { unavailable, type AccountsState, type JobView, type Judgement, type Scene } from "./scene.ts";
import type { AccountedJob } from "./sacct.ts";
import type { QueuedJob } from "./squeue.ts";

type SlurmRef = RefOf<"slurm">;

export interface ObserveWorld {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly deadlineSeconds: number;
}

/** Job → when the whole queue first answered without it, in milliseconds since the epoch; kept from look to look. */
export type Lacking = Map<string, number>;

/**
 * What can be said of these refs of one cluster, the queue having been looked at: one call for the files of all, and one sacct at
 * most. The files are read after the queue: what a job left before it went from there is in them.
 */
export const observeRefs = async (
  refs: readonly SlurmRef[],
  look: QueueLook,
  cluster: Cluster,
  world: ObserveWorld & { readonly lacking: Lacking },
): Promise<ReadonlyMap<JobKey, Observation>> => {
  const { looked } = look;
  if (!looked.worked) return all(refs, looked.why);
  const evidence = await askEvidence(world.transport, placesOf(refs), world.deadlineSeconds);
  if (!evidence.worked) return all(refs, evidence.why);
  const facts = await cluster.facts();
  // Jobs that a ref has not heard of are looked at like its own, and what continues it has them.
  const whole = refs.map((ref) => {
    const run = evidence.runs.get(layoutAt(ref.folder).run);
    const complete = withLateJobs(ref, looked.rows, run?.claims);
    return run === undefined ? complete : withTwins(complete, looked.rows, run);
  });
  const stage: Stage = {
    queue: rowsById(looked.rows),
    isQueueWhole: looked.whole,
    lackedFor: noteLacking(whole, look, world.lacking),
    evidence,
    uid: facts.known ? facts.facts.uid : null,
  };
  const first = whole.map((ref) => [ref, judgeRef(ref, stage, NOT_ASKED)] as const);
  const open = first.flatMap(([ref, judgement]) => (judgement === "accounts" ? [ref] : []));
  const accounts = open.length === 0 ? NOT_ASKED : await askAccounts(open, cluster, evidence.now);
  const seen = first.map(
    ([ref, judgement]) =>
      [ref, settled(judgement === "accounts" ? judgeRef(ref, stage, accounts) : judgement)] as const,
  );
  const kept = await sweepSecrets(seen, evidence.runs, world);
  return new Map(seen.map(([ref, one]) => [jobKey(ref), kept.get(jobKey(ref)) ?? one]));
};

interface Stage {
  readonly queue: ReadonlyMap<string, QueuedJob>;
  readonly isQueueWhole: boolean;
  /** Seconds for which every whole look at the queue was without this job. */
  readonly lackedFor: (id: string) => number;
  readonly evidence: Extract<Evidence, { worked: true }>;
  readonly uid: number | null;
}

interface Accounts {
  readonly state: AccountsState;
  readonly rows: ReadonlyMap<string, readonly AccountedJob[]>;
}

// A job that is between two runs, or whose controller has just started, is in the queue again before that.
const RUNAWAY_SECONDS = 300;

const NOT_ASKED: Accounts = { state: { kind: "not-asked" }, rows: new Map() };

const all = (refs: readonly SlurmRef[], why: string): ReadonlyMap<JobKey, Observation> =>
  new Map(refs.map((ref) => [jobKey(ref), unavailable(why)]));

const settled = (judgement: Judgement): Observation =>
  judgement === "accounts" ? unavailable("the accounts were not asked") : judgement;

function noteLacking(
  refs: readonly SlurmRef[],
  { at, looked }: QueueLook,
  lacking: Lacking,
): Stage["lackedFor"] {
  const listed = new Set(looked.worked ? looked.rows.map(({ id }) => id) : []);
  for (const { id } of refs.flatMap(({ jobs }) => jobs)) {
    if (listed.has(id)) lacking.delete(id);
    else if (looked.worked && looked.whole && (lacking.get(id) ?? Infinity) > at) lacking.set(id, at);
  }
  return (id) => (at - (lacking.get(id) ?? at)) / 1000;
}

function placesOf(refs: readonly SlurmRef[]): readonly RunPlace[] {
  const places = new Map<string, number>();
  for (const { folder, marker } of refs) {
    const { run } = layoutAt(folder);
    places.set(run, Math.min(places.get(run) ?? Infinity, numberOf(marker)));
  }
  return [...places].map(([run, from]) => ({ run, from }));
}

function rowsById(rows: readonly QueuedJob[]): ReadonlyMap<string, QueuedJob> {
  return new Map(rows.map((row) => [row.id, row]));
}

function judgeRef(ref: SlurmRef, stage: Stage, accounts: Accounts): Judgement {
  const run = stage.evidence.runs.get(layoutAt(ref.folder).run);
  if (run === undefined) return unavailable(`nothing was said about ${posix.dirname(ref.folder)}`);
  if (run.unread !== null) return unavailable(`the run's folder cannot be read: ${run.unread}`);
  const scene: Scene = {
    ref,
    jobs: ref.jobs.map((job) => viewOf(job, { ref, stage, accounts })),
    evidence: attemptEvidence(ref, run),
    uid: stage.uid,
    accounts: accounts.state,
    isQueueWhole: stage.isQueueWhole,
    now: stage.evidence.now,
  };
  return judge(scene);
}

function viewOf(
  { id, link }: SlurmRef["jobs"][number],
  { ref, stage, accounts }: { readonly ref: SlurmRef; readonly stage: Stage; readonly accounts: Accounts },
): JobView {
  const row = stage.queue.get(id);
  // The accounts were never told of its end, and never will be: such a row says nothing.
  const isRunaway = row === undefined && stage.lackedFor(id) >= RUNAWAY_SECONDS;
  const isHeard = ({ state: { state, word } }: AccountedJob): boolean =>
    !isRunaway || state.phase !== "live" || word === "REQUEUED";
  const runs = (accounts.rows.get(id) ?? []).map(
    (run) => [run, ownership(run, ref.marker, ref.submittedAt)] as const,
  );
  const owned = runs.flatMap(([run, whose]) => (whose === "ours" ? [run] : [])).filter(isHeard);
  return {
    id,
    link,
    // A name never changes in the queue: with another one it is another's job that has got this id.
    queued:
      row !== undefined && ownership({ ...row, exit: "" }, ref.marker, ref.submittedAt) === "ours"
        ? row
        : undefined,
    runs: owned,
    isYoung: owned.length === 0 && runs.some(([, whose]) => whose === "young"),
  };
}

/** `now`: seconds since the epoch there. A window by the clock of this machine would lose rows where that is wrong. */
async function askAccounts(refs: readonly SlurmRef[], cluster: Cluster, now: number): Promise<Accounts> {
  const earliest = Math.min(...refs.map(({ submittedAt }) => submittedAt));
  const answer = await cluster.accounts({
    ids: refs.flatMap(({ jobs }) => jobs.map(({ id }) => id)),
    sinceSeconds: now - earliest / 1000 + CLOCK_TOLERANCE,
  });
  if (answer === "none") return { state: { kind: "none" }, rows: new Map() };
  if (!answer.worked) return { state: { kind: "failed", why: answer.why }, rows: new Map() };
  const rows = new Map<string, AccountedJob[]>();
  for (const row of answer.rows) rows.set(row.id, [...(rows.get(row.id) ?? []), row]);
  return { state: { kind: "asked" }, rows };
}
