import { stat } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../core/errors.ts";
import { SPLITS, type DatasetLock, type Split } from "./schema.ts";
import { openShard, type Shard } from "./shard/read-shard.ts";

/** What the shards of a split say of themselves. */
export interface SplitFacts {
  readonly shards: number;
  readonly rows: number;
  readonly turns: number;
  readonly fileBytes: number;
  readonly uncompressedBytes: number;
  /** Rows by id of the role. */
  readonly roles: ReadonlyMap<string, number>;
}

export interface ShardFacts {
  readonly splits: Readonly<Record<Split, SplitFacts>>;
  /** The description of the features that every footer has. */
  readonly footer: string;
}

const MOST_LISTED = 10;

/**
 * Reads the footer and the text of every shard of a lock, no audio, and compares them with the lock: rows, turns, rows of
 * each role, ids. UserErrors `SHARDS_DISAGREE` with every difference, and those of `openShard`.
 */
export const readShardFacts = async (
  lock: DatasetLock,
  folder: string,
  signal?: AbortSignal,
): Promise<ShardFacts> => {
  const ids = new Map<string, string>();
  const footers = new Map<string, string>();
  const problems: string[] = [];
  const split = async (name: Split): Promise<SplitFacts> => {
    const shards: ShardReading[] = [];
    for (const { path, rows } of lock.splits[name].shards) {
      signal?.throwIfAborted();
      const reading = await readShard(join(folder, path));
      if (reading.rows !== rows) problems.push(`${path} has ${reading.rows} rows, the lock says ${rows}`);
      if (reading.ids.length !== reading.rows)
        problems.push(`${path} holds ${reading.ids.length} rows, its footer says ${reading.rows}`);
      for (const id of reading.ids) {
        const other = ids.get(id);
        if (other !== undefined) problems.push(`${id} stands in ${other} and in ${path}`);
        ids.set(id, path);
      }
      footers.set(reading.footer, path);
      shards.push(reading);
    }
    return summed(shards);
  };
  const splits = {
    train: await split("train"),
    dev: await split("dev"),
    ood: await split("ood"),
    test: await split("test"),
  };
  problems.push(...SPLITS.flatMap((name) => differences(lock, name, splits[name])));
  const [footer, ...others] = footers.keys();
  if (others.length > 0)
    problems.push(`the footers of ${[...footers.values()].join(", ")} describe different features`);
  if (footer === undefined || footer === "")
    problems.push("there is no shard whose footer describes its features");
  if (problems.length > 0) throw disagreement(lock.name, problems);
  return { splits, footer: footer ?? "" };
};

interface ShardReading {
  readonly rows: number;
  readonly turns: number;
  readonly fileBytes: number;
  readonly uncompressedBytes: number;
  readonly footer: string;
  readonly ids: readonly string[];
  readonly roles: ReadonlyMap<string, number>;
}

async function readShard(path: string): Promise<ShardReading> {
  const shard = await openShard(path);
  try {
    return await readText(shard, (await stat(path)).size);
  } finally {
    await shard.close();
  }
}

async function readText(shard: Shard, fileBytes: number): Promise<ShardReading> {
  const ids: string[] = [];
  const roles = new Map<string, number>();
  let turns = 0;
  for await (const row of shard.texts()) {
    ids.push(row.id);
    roles.set(row.roleId, (roles.get(row.roleId) ?? 0) + 1);
    turns += row.turns.length;
  }
  const { rows, uncompressedBytes, footer = "" } = shard;
  return { rows, turns, fileBytes, uncompressedBytes, footer, ids, roles };
}

function summed(shards: readonly ShardReading[]): SplitFacts {
  const roles = new Map<string, number>();
  for (const shard of shards)
    for (const [role, rows] of shard.roles) roles.set(role, (roles.get(role) ?? 0) + rows);
  const sum = (of: (shard: ShardReading) => number): number =>
    shards.reduce((total, shard) => total + of(shard), 0);
  return {
    shards: shards.length,
    rows: sum(({ rows }) => rows),
    turns: sum(({ turns }) => turns),
    fileBytes: sum(({ fileBytes }) => fileBytes),
    uncompressedBytes: sum(({ uncompressedBytes }) => uncompressedBytes),
    roles,
  };
}

function differences(lock: DatasetLock, split: Split, facts: SplitFacts): readonly string[] {
  const locked = lock.splits[split];
  const unequal = (what: string, found: number, wanted: number): readonly string[] =>
    found === wanted ? [] : [`${split} has ${found} ${what}, the lock says ${wanted}`];
  const known = new Set(lock.roles.map(({ id }) => id));
  return [
    ...unequal("rows", facts.rows, locked.rows),
    ...unequal("turns", facts.turns, locked.turns),
    ...lock.roles.flatMap(({ id, rows }) => unequal(`rows of ${id}`, facts.roles.get(id) ?? 0, rows[split])),
    ...[...facts.roles.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `${split} has rows of ${id}, the lock knows no such role`),
  ];
}

function disagreement(name: string, problems: readonly string[]): UserError {
  const more = problems.length > MOST_LISTED ? [`  and ${problems.length - MOST_LISTED} more`] : [];
  const lines = problems.slice(0, MOST_LISTED).map((problem) => `  ${problem}`);
  return new UserError(
    "SHARDS_DISAGREE",
    `The shards of "${name}" and its lock do not say the same:\n${[...lines, ...more].join("\n")}`,
    { hint: `pack it again: understudy dataset pack ${name}` },
  );
}
