import { openShard, type Shard } from "./shard/read-shard.ts";

/** Shards that are opened when needed; a full-size data set has more of them than a process may have open files. */
export interface ShardPool {
  /** Opens the shard, or takes the open one, for as long as `use` runs. Errors of `openShard`. */
  with<Value>(path: string, use: (shard: Shard) => Promise<Value>): Promise<Value>;
  /** The same for a stream. */
  stream<Value>(path: string, use: (shard: Shard) => AsyncIterable<Value>): AsyncIterable<Value>;
  close(): Promise<void>;
}

interface Held {
  readonly shard: Promise<Shard>;
  users: number;
}

// Each keeps a file and its footer, some hundred kilobytes.
const MOST_OPEN = 32;

/** A pool that keeps the shards used last; more than `most` are open only while they are in use. */
export const openShardPool = (most = MOST_OPEN): ShardPool => {
  // In the order of last use.
  const held = new Map<string, Held>();
  const take = (path: string): Held => {
    const entry = held.get(path) ?? { shard: openShard(path), users: 0 };
    held.delete(path);
    held.set(path, entry);
    entry.users += 1;
    return entry;
  };
  const giveBack = async (entry: Held): Promise<void> => {
    entry.users -= 1;
    for (const [path, { users, shard }] of held) {
      if (held.size <= most) return;
      if (users > 0) continue;
      held.delete(path);
      await closed(shard);
    }
  };
  const opened = async (path: string, entry: Held): Promise<Shard> => {
    try {
      return await entry.shard;
    } catch (error) {
      // Whoever asks again may have repaired it.
      if (held.get(path) === entry) held.delete(path);
      throw error;
    }
  };
  return {
    with: async (path, use) => {
      const entry = take(path);
      try {
        return await use(await opened(path, entry));
      } finally {
        await giveBack(entry);
      }
    },
    async *stream(path, use) {
      const entry = take(path);
      try {
        yield* use(await opened(path, entry));
      } finally {
        await giveBack(entry);
      }
    },
    close: async () => {
      const all = [...held.values()];
      held.clear();
      await Promise.all(all.map(async ({ shard }) => closed(shard)));
    },
  };
};

// One that could not be opened has nothing to close; its error was told to whoever asked for it.
async function closed(shard: Promise<Shard>): Promise<void> {
  const open = await shard.catch(() => undefined);
  await open?.close();
}
