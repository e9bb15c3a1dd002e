import { versions } from "node:process";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { InternalError } from "../../core/errors.ts";
import { UnitSurvey } from "./entry.ts";
import { openHand, type Hand, type HandSetup, type Watch } from "./hand.ts";
import { errorOf, Reply, WrittenShard, type Task } from "./worker-protocol.ts";

/** Threads that share the work; `module` is the compiled worker of this folder. */
export interface Threads {
  readonly count: number;
  readonly module: URL;
}

/** Hands for a pack. Close them. */
export interface Crew {
  /** Runs `job` for each item, as many at once as there are hands; results in the order of the items. */
  each<Item, Result>(
    items: readonly Item[],
    job: (item: Item, hand: Hand) => Promise<Result>,
  ): Promise<Result[]>;
  close(): Promise<void>;
}

/** This thread alone, or several. Which one does what never changes a byte of the result. */
export const openCrew = async (setup: HandSetup, threads: Threads | undefined): Promise<Crew> => {
  const isAlone = threads === undefined || threads.count < 2;
  // Later engines know no such flag, and say so.
  if (!isAlone && versions.v8.startsWith("11.")) setFlagsFromString(UNHURRIED);
  const hands = isAlone
    ? [await openHand(setup)]
    : Array.from({ length: threads.count }, () => threadHand(setup, threads.module));
  return {
    each: async (items, job) => {
      const results: Awaited<ReturnType<typeof job>>[] = [];
      const failures: unknown[] = [];
      let next = 0;
      const work = async (hand: Hand): Promise<void> => {
        while (next < items.length && failures.length === 0) {
          const index = next++;
          const item = items[index];
          if (item === undefined) continue;
          try {
            results[index] = await job(item, hand);
          } catch (error) {
            failures.push(error);
          }
        }
      };
      await Promise.all(hands.map(work));
      if (failures.length > 0) throw failures[0];
      return results;
    },
    close: async () => {
      await Promise.all(hands.map(async (hand) => hand.close()));
    },
  };
};

interface Waiting {
  readonly watch: Watch;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

// Megabytes for what has just been made. A thread would take 48, and a dialogue leaves little behind.
const YOUNG = 6;

// A thread runs a small program over and over, most of it in the C library. Compiling that for speed as early as the engine
// does by itself takes a sixth of a pack, in each thread anew.
const UNHURRIED = "--interrupt-budget=500000";

// One task at a time for each thread, so one waiting slot is enough.
function threadHand(setup: HandSetup, module: URL): Hand {
  const worker = new Worker(module, {
    workerData: setup,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG },
  });
  let waiting: Waiting | undefined;
  let broken: unknown;
  const settle = (how: (current: Waiting) => void): void => {
    const current = waiting;
    waiting = undefined;
    if (current) how(current);
  };
  const breakDown = (error: unknown): void => {
    broken ??= error;
    settle(({ reject }) => reject(broken));
  };
  worker.on("message", (message: unknown) => {
    const reply = Reply.parse(message);
    if (reply.kind === "dialogues") waiting?.watch.onDialogues(reply.count);
    else if (reply.kind === "done") settle(({ resolve }) => resolve(reply.value));
    else settle(({ reject }) => reject(errorOf(reply)));
  });
  worker.on("error", breakDown);
  worker.on("exit", (code) => {
    breakDown(new InternalError("PACK_THREAD_ENDED", `A packing thread ended with ${code}`));
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin, windows have
  const send = (task: Task): void => worker.postMessage(task);
  const ask = async (task: Task, watch: Watch): Promise<unknown> => {
    watch.signal?.throwIfAborted();
    if (broken !== undefined) throw broken;
    const stop = (): void => send({ kind: "stop" });
    watch.signal?.addEventListener("abort", stop, { once: true });
    try {
      return await new Promise<unknown>((resolve, reject) => {
        waiting = { watch, resolve, reject };
        send(task);
      });
    } catch (error) {
      // An ended task is the caller's own wish, whatever the thread calls it.
      watch.signal?.throwIfAborted();
      throw error;
    } finally {
      watch.signal?.removeEventListener("abort", stop);
    }
  };
  return {
    survey: async (unit, watch) => UnitSurvey.parse(await ask({ kind: "survey", unit }, watch)),
    write: async (shard, watch) => WrittenShard.parse(await ask({ kind: "write", shard }, watch)),
    close: async () => {
      await worker.terminate();
    },
  };
}
