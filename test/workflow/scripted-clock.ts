import type { Clock } from "../../src/core/clock.ts";

/** Time that passes only when a test says so; who sleeps is woken by it. */
export interface HandClock extends Clock {
  forward(milliseconds: number): void;
}

export const handClock = (start = Date.UTC(2026, 0, 31, 10, 15, 0)): HandClock => {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const sleeper = { at: now + milliseconds, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", () => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        });
      });
    },
    forward: (milliseconds) => {
      now += milliseconds;
      for (const sleeper of [...sleepers].filter(({ at }) => at <= now)) {
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
  };
};
