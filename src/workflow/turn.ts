import { randomUUID } from "node:crypto";
import { link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { systemCode } from "../core/errors.ts";
import { parseJson, readIfExists, writeAtomic } from "../core/files.ts";
import { isOwnerGone } from "../core/process-owner.ts";
import type { Shop } from "./shop.ts";

const Turn = z.strictObject({
  schemaVersion: z.literal(1),
  owner: z.string(),
  token: z.string(),
  /** Milliseconds since the epoch; from then on it is nobody's, whoever took it. */
  until: z.number(),
});
type Turn = z.infer<typeof Turn>;

const LASTS = 60_000;
const RENEWED_AFTER = 20_000;

type World = Pick<Shop, "clock" | "signal" | "owner">;

/**
 * Does `work` unless another process has its turn at `file` just now; then `busy`. A turn is renewed for as long as the work
 * takes, and runs out by itself: that of a container that was killed must not keep everybody away. Only good for saving a
 * question: where a turn cannot be kept nobody is kept away, and who slept through the end of its turn may work beside the next.
 */
export const inTurnAt = async (
  shop: World,
  file: string,
  work: () => Promise<void>,
): Promise<"done" | "busy"> => {
  shop.signal.throwIfAborted();
  const token = randomUUID();
  const taken = await take(shop, file, token);
  if (taken === "busy") return "busy";
  const working = new AbortController();
  const renewing = taken === "kept" ? renew(shop, file, token, working.signal) : undefined;
  try {
    await work();
    return "done";
  } finally {
    working.abort();
    await renewing;
    if ((await readTurn(file))?.token === token) await rm(file, { force: true });
  }
};

const turnOf = ({ clock, owner }: World, token: string): Turn => ({
  schemaVersion: 1,
  owner,
  token,
  until: clock.now() + LASTS,
});

async function take(shop: World, file: string, token: string): Promise<"kept" | "unkept" | "busy"> {
  const own = `${file}.${token}`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(own, JSON.stringify(turnOf(shop, token)));
    // A second time after somebody's old turn was taken away.
    if ((await claim(own, file)) || ((await clear(shop, file)) && (await claim(own, file)))) return "kept";
    return "busy";
  } catch {
    // A full disk, or a filesystem without hard links.
    return "unkept";
  } finally {
    await rm(own, { force: true });
  }
}

/** One that comes second finds the first one's, whole. */
async function claim(own: string, file: string): Promise<boolean> {
  try {
    await link(own, file);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Takes a turn away that is over. False while it is somebody's. */
async function clear(shop: World, file: string): Promise<boolean> {
  const before = await readTurn(file);
  if (before !== undefined && !(await isOver(shop, before))) return false;
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch {
    // It was given back just now.
    return true;
  }
  // Another process may have cleared it before, and taken the turn.
  const isOther = (await readTurn(aside))?.token !== before?.token;
  if (isOther) await claim(aside, file);
  await rm(aside, { force: true });
  return !isOther;
}

async function isOver({ clock }: World, { owner, until }: Turn): Promise<boolean> {
  const left = until - clock.now();
  // More than a turn lasts: the clock was put back.
  return left <= 0 || left > LASTS || (await isOwnerGone(owner));
}

/** Undefined where there is none, or none that can be read: turns are made whole, so that one is nobody's. */
async function readTurn(file: string): Promise<Turn | undefined> {
  try {
    const text = await readIfExists(file);
    return text === undefined ? undefined : parseJson(text, Turn, file);
  } catch {
    return undefined;
  }
}

async function renew(shop: World, file: string, token: string, working: AbortSignal): Promise<void> {
  while (!working.aborted) {
    try {
      await shop.clock.sleep(RENEWED_AFTER, working);
      if ((await readTurn(file))?.token !== token) return;
      await writeAtomic(file, JSON.stringify(turnOf(shop, token)));
    } catch {
      // The work is done, or the disk is full: then it is tried again.
    }
  }
}
