import { setTimeout as wait } from "node:timers/promises";
import type { ChannelEnd } from "./channel.ts";

/** Why a call must not go on: its deadline has passed, or its caller has given up. */
export interface Stop {
  readonly cause: Promise<ChannelEnd>;
  /** Aborts together with `cause`. */
  readonly signal: AbortSignal;
  /** Ends the waiting. */
  clear(): void;
}

/** Real time on purpose: a peer that says nothing must not hold a caller whose clock stands still. */
export const stopAfter = (milliseconds: number, signal?: AbortSignal): Stop => {
  const over = new AbortController();
  const stopped = new AbortController();
  const cause = new Promise<ChannelEnd>((resolve) => {
    const give = (end: ChannelEnd): void => {
      resolve(end);
      stopped.abort();
      over.abort();
    };
    const aborted = (): void => give({ code: "ABORTED", reason: "it was cancelled here" });
    if (signal?.aborted) aborted();
    signal?.addEventListener("abort", aborted, { once: true, signal: over.signal });
    // Timers hold no longer time than this.
    const longest = 2 ** 31 - 1;
    wait(Math.min(milliseconds, longest), undefined, { signal: over.signal }).then(
      () => give({ code: "DEADLINE", reason: `there was no answer within ${secondsText(milliseconds)}` }),
      () => undefined,
    );
  });
  return { cause, signal: stopped.signal, clear: () => over.abort() };
};

const secondsText = (milliseconds: number): string => `${Number((milliseconds / 1000).toFixed(1))} s`;
