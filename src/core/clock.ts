import { setTimeout as wait } from "node:timers/promises";

/** Time as an argument, so that tests decide what "now" is. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `milliseconds`; rejects with the signal's reason when aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (milliseconds, signal) => {
    await wait(milliseconds, undefined, signal ? { signal } : {});
  },
};

/** ISO 8601 in UTC, e.g. `2026-01-31T10:00:00.000Z`. */
export const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString();
