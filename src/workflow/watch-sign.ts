import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson, readIfExists, writeAtomic } from "../core/files.ts";
import { isOwnerGone } from "../core/process-owner.ts";
import type { Shop } from "./shop.ts";

const Sign = z.strictObject({
  schemaVersion: z.literal(1),
  owner: z.string(),
  /** Ids of the runs that are watched; null: all of the project. */
  runs: z.array(z.string()).nullable(),
  /** Milliseconds since the epoch; from then on nobody stands behind it. */
  until: z.number(),
});
type Sign = z.infer<typeof Sign>;

const LASTS = 90_000;
const RENEWED_AFTER = 30_000;

type World = Pick<Shop, "project" | "clock" | "owner">;

const folderOf = ({ project }: Pick<Shop, "project">): string => join(project.state, "watchers");

/**
 * Does work that goes on watching these runs (null: all), and leaves a sign of it meanwhile. It says who does something about a
 * run, and keeps nobody away; that of a process that was killed runs out by itself.
 */
export const whileWatching = async <Result>(
  shop: World,
  runs: readonly string[] | null,
  work: () => Promise<Result>,
): Promise<Result> => {
  const remove = putSign(shop, runs);
  try {
    return await work();
  } finally {
    await remove();
  }
};

/** The same for work that hands out its results one by one: what is returned takes the sign away. */
export const putSign = (shop: World, runs: readonly string[] | null): (() => Promise<void>) => {
  const file = join(folderOf(shop), `${randomUUID()}.json`);
  const working = new AbortController();
  // No run waits for it.
  const renewing = renew(shop, file, { runs, working: working.signal });
  return async () => {
    working.abort();
    await renewing;
    await rm(file, { force: true }).catch(() => undefined);
  };
};

async function renew(
  shop: World,
  file: string,
  { runs, working }: { readonly runs: readonly string[] | null; readonly working: AbortSignal },
): Promise<void> {
  while (!working.aborted) {
    await write(shop, file, runs);
    try {
      await shop.clock.sleep(RENEWED_AFTER, working);
    } catch {
      return;
    }
  }
}

async function write(shop: World, file: string, runs: readonly string[] | null): Promise<void> {
  const sign: Sign = {
    schemaVersion: 1,
    owner: shop.owner,
    runs: runs === null ? null : [...runs],
    until: shop.clock.now() + LASTS,
  };
  try {
    await writeAtomic(file, JSON.stringify(sign));
  } catch {
    // A full disk is told by whoever has something to keep.
  }
}

/** Says of a run whether a process watches it now and goes on. */
export const readWatchers = async (shop: World): Promise<(runId: string) => boolean> => {
  const signs = await Promise.all((await namesIn(folderOf(shop))).map(async (name) => live(shop, name)));
  const runs = signs.flatMap((sign) => (sign === undefined ? [] : [sign.runs]));
  return (runId) => runs.some((ids) => ids === null || ids.includes(runId));
};

async function live(shop: World, name: string): Promise<Sign | undefined> {
  const file = join(folderOf(shop), name);
  try {
    const text = await readIfExists(file);
    const sign = text === undefined ? undefined : parseJson(text, Sign, file);
    if (sign === undefined) return undefined;
    const left = sign.until - shop.clock.now();
    // More than a sign lasts: the clock was put back.
    if (left > 0 && left <= LASTS && !(await isOwnerGone(sign.owner))) return sign;
    await rm(file, { force: true });
  } catch {
    // One that cannot be read says nothing.
  }
  return undefined;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}
