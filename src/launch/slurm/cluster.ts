import type { Clock } from "../../core/clock.ts";
import type { Transport } from "../transport/transport.ts";
import { execute, onCluster, scrubbed } from "./command.ts";
import { askFacts, type Facts } from "./facts.ts";
import { hasNoAccounts, readSacct, sacctArgv, type AccountedJob, type SacctQuery } from "./sacct.ts";
import { readSqueue, squeueArgv, type Looked, type QueuedJob } from "./squeue.ts";

/** What was asked of the queue, and when (milliseconds since the epoch). */
export interface QueueLook {
  readonly at: number;
  readonly looked: Looked<QueuedJob>;
}

/** One cluster, as its commands show it. */
export interface Cluster {
  readonly name: string | null;
  facts(): Promise<Facts>;
  /** The queue as it is now; one that is being asked already is shared. */
  queue(): Promise<QueueLook>;
  /** Of these ids, or everything of this user. `none`: this cluster keeps no accounts. */
  accounts(query: Pick<SacctQuery, "sinceSeconds" | "ids">): Promise<Looked<AccountedJob> | "none">;
}

/** A cluster of a federation, or the only one (`null`). Nothing is asked yet. */
export const openCluster = (
  name: string | null,
  settings: { readonly transport: Transport; readonly clock: Clock; readonly deadlineSeconds: number },
): Cluster => {
  const { transport, clock, deadlineSeconds } = settings;
  const deadline = (deadlineSeconds + 10) * 1000;
  const ask = async (argv: readonly [string, ...string[]]): ReturnType<typeof execute> =>
    execute(transport, scrubbed(argv, deadlineSeconds), { deadline });
  let facts: Facts | undefined;
  let keepsNone = false;
  let asking: Promise<QueueLook> | undefined;
  const look = async (): Promise<QueueLook> => ({
    at: clock.now(),
    looked: readSqueue(await ask(squeueArgv(onCluster(name)))),
  });
  const known = async (): Promise<Facts> => {
    if (facts?.known !== true) facts = await askFacts(transport, name, deadlineSeconds);
    return facts;
  };
  return {
    name,
    facts: known,
    queue: async () => {
      asking ??= look().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    accounts: async (query) => {
      const learnt = await known();
      if (keepsNone || (learnt.known && !learnt.facts.accounts)) return "none";
      const own = query.ids === undefined && learnt.known ? { uid: learnt.facts.uid } : {};
      const outcome = await ask(sacctArgv({ ...query, ...own, cluster: onCluster(name) }));
      keepsNone = hasNoAccounts(outcome);
      return keepsNone ? "none" : readSacct(outcome);
    },
  };
};
