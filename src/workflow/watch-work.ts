import type { Shop } from "./shop.ts";
import type { RunLook } from "./watch-look.ts";

/** What goes on in the background of a watcher: an upload of hours must not keep all other runs waiting. */
export interface Work {
  /** Under way, by run id or group name: not begun again before it is done. */
  readonly working: Map<string, Promise<void>>;
  /** What has been seen and not been told yet. */
  readonly news: RunLook[];
  /** What ended work that should not fail: the next pass fails with it. */
  readonly failures: unknown[];
}

/** Keeps work under its name until it is done. What is returned never rejects. */
export const track = async (
  { working, failures }: Work,
  name: string,
  work: () => Promise<void>,
): Promise<void> => {
  const tracked = work()
    .catch((error: unknown) => void failures.push(error))
    .finally(() => working.delete(name));
  working.set(name, tracked);
  return tracked;
};

const PATIENCE = 2000;

/** Waits until all of it is done, but not long: what is not goes on. Rejects with the signal's reason when aborted. */
export const patiently = async (
  shop: Pick<Shop, "clock" | "signal">,
  works: readonly Promise<void>[],
): Promise<void> => {
  if (works.length > 0) await sleepUnless(shop, PATIENCE, [Promise.all(works)]);
};

/** Sleeps until anything is done, at most that many milliseconds. Rejects with the signal's reason when aborted. */
export const sleepUnless = async (
  { clock, signal }: Pick<Shop, "clock" | "signal">,
  milliseconds: number,
  works: readonly Promise<unknown>[],
): Promise<void> => {
  const woken = new AbortController();
  try {
    await Promise.race([...works, clock.sleep(milliseconds, AbortSignal.any([signal, woken.signal]))]);
  } finally {
    woken.abort();
  }
};

/** Does work when one of a number of places is free. */
export type Places = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** At most `limit` at once, first come first served. */
export const placesFor = (limit: number): Places => {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};
