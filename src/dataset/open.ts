import { join } from "node:path";
import { UserError } from "../core/errors.ts";
import type { Project } from "../core/project.ts";
import { packedFolder } from "./places.ts";
import { readLock } from "./lock-file.ts";
import type { Clip, DatasetLock, Dialogue, ReferenceBackend, Split } from "./schema.ts";
import type { DialogueText } from "./shard/row.ts";
import { openShardPool, type ShardPool } from "./shard-pool.ts";

/** A packed data set, open for reading. Close it. */
export interface OpenDataset {
  readonly lock: DatasetLock;
  /** Shard files of each split, absolute. */
  readonly shards: Readonly<Record<Split, readonly string[]>>;
  /** One dialogue with its audio, as it is stored: `wavClip` makes any clip playable. UserError `DIALOGUE_UNKNOWN`. */
  dialogue(id: string): Promise<Dialogue>;
  /** The split that a dialogue is in, or undefined when it is in none. */
  splitOf(id: string): Promise<Split | undefined>;
  /** One clip of a turn (0-based): the user's, or a reference; null where there is none. UserError `DIALOGUE_UNKNOWN`, `TURN_UNKNOWN`. */
  audio(id: string, turn: number, which: "user" | ReferenceBackend): Promise<Clip | null>;
  /** Text of all dialogues of a split, audio untouched. */
  texts(split: Split): AsyncIterable<DialogueText>;
  close(): Promise<void>;
}

// Evaluations and reports ask for test dialogues: the hundreds of training shards are looked into only when nothing else has the id.
const SEARCH_ORDER = ["test", "dev", "ood", "train"] as const satisfies readonly Split[];

/**
 * Opens a packed data set. The shards are trusted here; `verifyDataset` is what checks them. UserErrors: of `readLock`,
 * and `SHARD_MISSING` or `SHARD_UNREADABLE` once a shard is needed.
 */
export const openDataset = async (project: Project, name: string): Promise<OpenDataset> => {
  const lock = await readLock(project, name);
  const folder = packedFolder(project, name);
  const paths = (split: Split): string[] => lock.splits[split].shards.map(({ path }) => join(folder, path));
  const shards = { train: paths("train"), dev: paths("dev"), ood: paths("ood"), test: paths("test") };
  const pool = openShardPool();
  const find = finder(shards, pool);
  const spotOf = async (id: string): Promise<Spot> => {
    const spot = await find(id);
    if (spot) return spot;
    throw new UserError("DIALOGUE_UNKNOWN", `The data set "${name}" has no dialogue ${id}`, {
      hint: `understudy dataset show ${name} --split test lists ids`,
    });
  };
  const dialogue = async (id: string): Promise<Dialogue> => {
    const { path, row } = await spotOf(id);
    return pool.with(path, async (shard) => shard.row(row));
  };
  return {
    lock,
    shards,
    dialogue,
    splitOf: async (id) => (await find(id))?.split,
    audio: async (id, turn, which) => {
      const found = (await dialogue(id)).turns[turn];
      if (!found) throw new UserError("TURN_UNKNOWN", `The dialogue ${id} has no turn ${turn + 1}`);
      return which === "user" ? found.userAudio : found.roleAudio[which];
    },
    async *texts(split) {
      for (const path of shards[split]) yield* pool.stream(path, (shard) => shard.texts());
    },
    close: async () => pool.close(),
  };
};

interface Spot {
  readonly split: Split;
  readonly path: string;
  readonly row: number;
}

// Indexes one split after the other, until the id is found.
function finder(shards: OpenDataset["shards"], pool: ShardPool): (id: string) => Promise<Spot | undefined> {
  const indexes = new Map<Split, Promise<ReadonlyMap<string, Spot>>>();
  const indexOf = async (split: Split): Promise<ReadonlyMap<string, Spot>> => {
    const known = indexes.get(split) ?? indexIds(split, shards[split], pool);
    indexes.set(split, known);
    try {
      return await known;
    } catch (error) {
      indexes.delete(split);
      throw error;
    }
  };
  return async (id) => {
    for (const split of SEARCH_ORDER) {
      const spot = (await indexOf(split)).get(id);
      if (spot) return spot;
    }
    return undefined;
  };
}

async function indexIds(
  split: Split,
  paths: readonly string[],
  pool: ShardPool,
): Promise<ReadonlyMap<string, Spot>> {
  const spots = new Map<string, Spot>();
  for (const path of paths) {
    const ids = await pool.with(path, async (shard) => shard.ids());
    for (const [row, id] of ids.entries()) spots.set(id, { split, path, row });
  }
  return spots;
}
