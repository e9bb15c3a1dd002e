import { jobKey, type JobKey, type Observation, type RefOf } from "../schema.ts";
import type { Cluster, QueueLook } from "./cluster.ts";
import { withLateJobs } from "./late-jobs.ts";
import { observeRefs, type ObserveWorld } from "./observe.ts";
import type { AccountedJob } from "./sacct.ts";
import type { Looked } from "./squeue.ts";

type SlurmRef = RefOf<"slurm">;

/** What one cluster says, shared by all who ask: everything is as of at most `pollSeconds` ago. */
export interface QueueWatch {
  readonly name: string | null;
  observe(refs: readonly SlurmRef[]): Promise<ReadonlyMap<JobKey, Observation>>;
  /** The queue as it was at `notBefore` (milliseconds since the epoch) or later. */
  queue(notBefore: number): Promise<QueueLook>;
  /** Everything of this user in the accounts, as it was at `notBefore` or later. `none`: the cluster keeps none. */
  accounts(notBefore: number, sinceSeconds: number): Promise<Looked<AccountedJob> | "none">;
  /** The ref with jobs of its chain that only the last look at the queue has shown. */
  complete(ref: SlurmRef): SlurmRef;
  /** Something was submitted: the next question asks the cluster. */
  forget(): void;
}

interface Poll {
  readonly look: QueueLook;
  readonly seen: Map<JobKey, Observation>;
}

interface Account {
  readonly at: number;
  readonly sinceSeconds: number;
  readonly answer: Looked<AccountedJob> | "none";
}

// Accounts are asked for a window that serves the next ones who ask as well.
const LEAST_WINDOW = 3 * 86_400;
// Refs that nobody has asked for in so many polls are not looked at any more.
const FORGOTTEN_AFTER = 3;

/**
 * Asks a cluster once for all refs, however they are asked for: together or one by one. Refs that were asked for lately are
 * looked at together with whoever asks first.
 */
export const watchQueue = (cluster: Cluster, world: ObserveWorld, pollSeconds: number): QueueWatch => {
  const wanted = new Map<JobKey, { readonly ref: SlurmRef; idle: number }>();
  let poll: Poll | undefined;
  let account: Account | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  // A clock that was set back must not make an old look young for hours.
  const isFresh = ({ look }: Poll): boolean => Math.abs(world.clock.now() - look.at) < pollSeconds * 1000;
  const lacking = new Map<string, number>();
  const fill = async (current: Poll, refs: readonly SlurmRef[]): Promise<void> => {
    const answers = await observeRefs(refs, current.look, cluster, { ...world, lacking });
    for (const [key, seen] of answers) current.seen.set(key, seen);
  };
  const renew = async (): Promise<Poll> => {
    const next: Poll = { look: await cluster.queue(), seen: new Map() };
    for (const [key, entry] of wanted) {
      entry.idle += 1;
      if (entry.idle > FORGOTTEN_AFTER) wanted.delete(key);
    }
    await fill(
      next,
      [...wanted.values()].map(({ ref }) => ref),
    );
    poll = next;
    return next;
  };
  const answer = async (refs: readonly SlurmRef[]): Promise<ReadonlyMap<JobKey, Observation>> => {
    for (const ref of refs) {
      // The same attempt with other jobs: its chain was completed.
      if (!isSame(wanted.get(jobKey(ref))?.ref, ref)) poll?.seen.delete(jobKey(ref));
      wanted.set(jobKey(ref), { ref, idle: 0 });
    }
    const current = poll !== undefined && isFresh(poll) ? poll : await renew();
    const missing = refs.filter((ref) => !current.seen.has(jobKey(ref)));
    if (missing.length > 0) await fill(current, missing);
    return new Map(
      refs.flatMap((ref): [JobKey, Observation][] => {
        const seen = current.seen.get(jobKey(ref));
        return seen === undefined ? [] : [[jobKey(ref), seen]];
      }),
    );
  };
  // One at a time: two that find the poll too old would both ask the cluster.
  const inTurn = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const mine = turn.then(work, work);
    turn = mine.catch(() => undefined);
    return mine;
  };
  const isUsable = (one: Account | undefined, notBefore: number, sinceSeconds: number): one is Account =>
    one !== undefined && one.at >= notBefore && one.sinceSeconds >= sinceSeconds;
  return {
    name: cluster.name,
    observe: async (refs) => inTurn(async () => answer(refs)),
    queue: async (notBefore) =>
      inTurn(async () =>
        poll !== undefined && isFresh(poll) && poll.look.at >= notBefore ? poll.look : (await renew()).look,
      ),
    accounts: async (notBefore, sinceSeconds) =>
      inTurn(async () => {
        if (isUsable(account, notBefore, sinceSeconds)) return account.answer;
        const since = Math.max(sinceSeconds, LEAST_WINDOW);
        const at = world.clock.now();
        account = { at, sinceSeconds: since, answer: await cluster.accounts({ sinceSeconds: since }) };
        return account.answer;
      }),
    complete: (ref) => (poll?.look.looked.worked === true ? withLateJobs(ref, poll.look.looked.rows) : ref),
    forget: () => {
      poll = undefined;
    },
  };
};

function isSame(one: SlurmRef | undefined, other: SlurmRef): boolean {
  return one?.jobs.map(({ id }) => id).join() === other.jobs.map(({ id }) => id).join();
}
