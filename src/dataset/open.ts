import { join } from "node:path";
import { UserError } from "../core/errors.ts";
import type { Project } from "../core/project.ts";
import { packedFolder } from "./load-spec.ts";
import { readLock } from "./lock-file.ts";
import {
  SPLITS,
  type Clip,
  type DatasetLock,
  type Dialogue,
  type ReferenceBackend,
  type Split,
} from "./schema.ts";
import { openShard, type Shard } from "./shard/read-shard.ts";
import type { DialogueText } from "./shard/row.ts";

/** A packed data set, open for reading. Close it. */
export interface OpenDataset {
  readonly lock: DatasetLock;
  /** Shard files of each split, absolute. */
  readonly shards: Readonly<Record<Split, readonly string[]>>;
  /** One dialogue with its audio. UserError `DIALOGUE_UNKNOWN`. */
  dialogue(id: string): Promise<Dialogue>;
  /** One clip of a turn (0-based): the user's, or a reference; null where there is none. UserError `DIALOGUE_UNKNOWN`, `TURN_UNKNOWN`. */
  audio(id: string, turn: number, which: "user" | ReferenceBackend): Promise<Clip | null>;
  /** Text of all dialogues of a split, audio untouched. */
  texts(split: Split): AsyncIterable<DialogueText>;
  close(): Promise<void>;
}

/**
 * Opens a packed data set. The shards are trusted here; `verifyDataset` is what checks them. UserErrors: of `readLock`,
 * and `SHARD_MISSING` or `SHARD_UNREADABLE` once a shard is needed.
 */
export const openDataset = async (project: Project, name: string): Promise<OpenDataset> => {
  const lock = await readLock(project, name);
  const folder = packedFolder(project, name);
  const paths = (split: Split): string[] => lock.splits[split].shards.map(({ path }) => join(folder, path));
  const shards = { train: paths("train"), dev: paths("dev"), ood: paths("ood"), test: paths("test") };
  const opened = new Map<string, Promise<Shard>>();
  const shardAt = async (path: string): Promise<Shard> => {
    const shard = opened.get(path) ?? openShard(path);
    opened.set(path, shard);
    return shard;
  };
  let index: Promise<ReadonlyMap<string, Spot>> | undefined;
  const spotOf = async (id: string): Promise<Spot> => {
    index ??= indexIds(
      SPLITS.flatMap((split) => shards[split]),
      shardAt,
    );
    const spot = (await index).get(id);
    if (spot) return spot;
    throw new UserError("DIALOGUE_UNKNOWN", `The data set "${name}" has no dialogue ${id}`);
  };
  const dialogue = async (id: string): Promise<Dialogue> => {
    const { path, row } = await spotOf(id);
    return (await shardAt(path)).row(row);
  };
  return {
    lock,
    shards,
    dialogue,
    audio: async (id, turn, which) => {
      const found = (await dialogue(id)).turns[turn];
      if (!found) throw new UserError("TURN_UNKNOWN", `The dialogue ${id} has no turn ${turn}`);
      return which === "user" ? found.userAudio : found.roleAudio[which];
    },
    async *texts(split) {
      for (const path of shards[split]) yield* (await shardAt(path)).texts();
    },
    close: async () => {
      await Promise.all([...opened.values()].map(async (shard) => (await shard).close()));
    },
  };
};

interface Spot {
  readonly path: string;
  readonly row: number;
}

async function indexIds(
  paths: readonly string[],
  shardAt: (path: string) => Promise<Shard>,
): Promise<ReadonlyMap<string, Spot>> {
  const spots = new Map<string, Spot>();
  for (const path of paths)
    for (const [row, id] of (await (await shardAt(path)).ids()).entries()) spots.set(id, { path, row });
  return spots;
}
