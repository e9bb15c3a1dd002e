import { jobKey, type JobKey, type Observation, type RefOf } from "../schema.ts";
import type { Cluster, QueueLook } from "./cluster.ts";
import { observeRefs, type ObserveWorld } from "./observe.ts";

type SlurmRef = RefOf<"slurm">;

/** Observations of one cluster's jobs, shared by all who ask. */
export interface QueueWatch {
  /** As of at most `pollSeconds` ago. */
  observe(refs: readonly SlurmRef[]): Promise<ReadonlyMap<JobKey, Observation>>;
  /** As of now. */
  lookAgain(refs: readonly SlurmRef[]): Promise<ReadonlyMap<JobKey, Observation>>;
  /** Something was submitted or cancelled: the next question asks the cluster. */
  forget(): void;
}

interface Poll {
  readonly look: QueueLook;
  readonly seen: Map<JobKey, Observation>;
}

// Refs that nobody has asked for in so many polls are not looked at any more.
const FORGOTTEN_AFTER = 3;

/**
 * Asks a cluster once for all refs, however they are asked for: together or one by one. Refs that were asked for lately are
 * looked at together with whoever asks first.
 */
export const watchQueue = (cluster: Cluster, world: ObserveWorld, pollSeconds: number): QueueWatch => {
  const wanted = new Map<JobKey, { readonly ref: SlurmRef; idle: number }>();
  let poll: Poll | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const isFresh = ({ look }: Poll): boolean => world.clock.now() - look.at < pollSeconds * 1000;
  const fill = async (current: Poll, refs: readonly SlurmRef[]): Promise<void> => {
    const answers = await observeRefs(refs, current.look, cluster, world);
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
  return {
    observe: async (refs) => inTurn(async () => answer(refs)),
    lookAgain: async (refs) =>
      inTurn(async () => {
        poll = undefined;
        return answer(refs);
      }),
    forget: () => {
      poll = undefined;
    },
  };
};

function isSame(one: SlurmRef | undefined, other: SlurmRef): boolean {
  return one?.jobs.map(({ id }) => id).join() === other.jobs.map(({ id }) => id).join();
}
