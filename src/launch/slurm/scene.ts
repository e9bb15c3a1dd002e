import type { EndCause, Observation, RefOf } from "../schema.ts";
import type { AttemptEvidence } from "./attempt-evidence.ts";
import type { AccountedJob } from "./sacct.ts";
import type { QueuedJob } from "./squeue.ts";

/** One job of a ref, as queue and accounts show it. */
export interface JobView {
  readonly id: string;
  readonly link: number;
  readonly queued: QueuedJob | undefined;
  /** Its runs, oldest first: more than one after a requeue. Ours only. */
  readonly runs: readonly AccountedJob[];
  /** The accounts have it, its name not yet. */
  readonly isYoung: boolean;
}

/** `not-asked` yet; `none`: the cluster keeps none; `failed`: they could not be asked. */
export type AccountsState =
  | { readonly kind: "not-asked" | "none" | "asked" }
  | { readonly kind: "failed"; readonly why: string };

/** Everything known of one ref at one moment. */
export interface Scene {
  readonly ref: RefOf<"slurm">;
  readonly jobs: readonly JobView[];
  readonly evidence: AttemptEvidence;
  /** Who we are on the cluster; null when it does not say. */
  readonly uid: number | null;
  readonly accounts: AccountsState;
  /** False: what the queue does not list may be in it all the same. */
  readonly isQueueWhole: boolean;
  /** Seconds since the epoch on the far machine. */
  readonly now: number;
}

/** `accounts`: the answer needs them. */
export type Judgement = Observation | "accounts";

export const unavailable = (detail: string): Observation => ({ phase: "unavailable", detail });

/** What to say while the scheduler's own word is needed and the accounts do not have it; undefined when they were asked. */
export const waitForAccounts = ({ accounts }: Scene): Judgement | undefined => {
  if (accounts.kind === "not-asked") return "accounts";
  return accounts.kind === "failed" ? unavailable(accounts.why) : undefined;
};

// The accounts get an end in several messages; one that never comes must not be waited for.
const ACCOUNTS_SECONDS = 300;

/** True while the accounts have not heard all of the end of a run that the queue shows as over. */
export const isHalfHeard = ({ queued }: JobView, run: AccountedJob, now: number): boolean => {
  if (run.state.state.phase === "live" && run.state.word !== "REQUEUED") return true;
  return run.end === null && queued !== undefined && now - (queued.end ?? now) < ACCOUNTS_SECONDS;
};

/** Why the accounts' word on a cancelled job has to be waited for: they have not heard of the job at all; else undefined. */
export const lacksRow = (
  { id, queued, runs }: JobView,
  { accounts, now }: Scene,
): Observation | undefined => {
  const isAwaited = accounts.kind === "asked" && runs.length === 0 && queued?.state.word === "CANCELLED";
  if (!isAwaited || now - (queued.end ?? 0) >= ACCOUNTS_SECONDS) return undefined;
  return unavailable(`job ${id}: CANCELLED; the accounts do not say yet by whom`);
};

/** Why it cannot be told whether it was us who cancelled a job; undefined where it can, or does not matter. */
export const doubtOfCanceller = (uid: number | null, scene: Scene): Observation | undefined =>
  uid !== null && scene.uid === null && !scene.evidence.chain.runStopped
    ? unavailable(`cancelled by user ${uid}, and the cluster does not say who we are`)
    : undefined;

/** For people: the job, its state in Slurm's words, where it is and why. */
export const describe = ({ id, queued, runs }: JobView): string => {
  const last = runs.at(-1);
  if (queued !== undefined) {
    const place = queued.nodes === "" ? "" : ` on ${queued.nodes}`;
    const why = ["", "None"].includes(queued.reason) ? "" : ` (${queued.reason})`;
    return `job ${id}: ${queued.state.word}${place}${why}`;
  }
  return last === undefined ? `job ${id}: not listed` : `job ${id}: ${last.state.word} (exit ${last.exit})`;
};

/** One machine, as Slurm names it; null for none, several, and words that name none. */
export const nodeOf = ({ queued, runs }: JobView): string | null => {
  const nodes = runs.at(-1)?.nodes ?? queued?.nodes ?? "";
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(nodes) ? nodes : null;
};

/** Cancelled by whom, where that matters. */
export const cancelledBy = (uid: number | null, scene: Scene): EndCause =>
  uid !== null && scene.uid !== null && uid !== scene.uid && !scene.evidence.chain.runStopped
    ? "cancelled_by_other"
    : "cancelled";

/** Why a job that neither queue nor accounts list is not called absent; undefined when it may be. */
export const doubtOfAbsence = ({ jobs, isQueueWhole }: Scene): Observation | undefined => {
  const young = jobs.find(({ isYoung }) => isYoung);
  if (young !== undefined) return unavailable(`job ${young.id}: the accounts know too little of it yet`);
  return isQueueWhole ? undefined : unavailable("squeue printed a line that cannot be read");
};

/** Where a job was looked for in vain. */
export const nowhere = ({ accounts }: Scene): string =>
  accounts.kind === "none" ? "the queue does not list it" : "neither queue nor accounts list it";
