import type { Clock } from "../../core/clock.ts";
import { faultOf } from "./faults.ts";

/** How fast the service may be asked. Its own limits are per account, shared with everybody else in it. */
export interface PaceLimits {
  readonly perSecond: number;
  readonly burst: number;
  /** Tries of one call that is being throttled. */
  readonly tries: number;
  /** A number in [0, 1), for the jitter. */
  readonly random: () => number;
}

export const USUAL_PACE: PaceLimits = { perSecond: 4, burst: 8, tries: 5, random: Math.random };

/** Runs a call when its turn has come; a throttled one again, later and later. Other errors are the caller's. */
export type Pace = <Answer>(call: () => Promise<Answer>) => Promise<Answer>;

const SLOWEST = 0.1;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 20_000;

/**
 * A token bucket on this side of the wire. Being throttled halves its rate; every answer gives a little back. So a
 * thousand runs, or a second controller, slow each other down instead of failing.
 */
export const paced = (clock: Clock, limits: PaceLimits = USUAL_PACE): Pace => {
  let rate = limits.perSecond;
  let tokens = limits.burst;
  let at = clock.now();
  const turn = async (): Promise<void> => {
    const now = clock.now();
    // A clock that is set back must not make everybody wait for it.
    tokens = Math.min(limits.burst, tokens + (Math.max(0, now - at) / 1000) * rate) - 1;
    at = now;
    // Negative: others stand before us, each takes its turn.
    if (tokens < 0) await clock.sleep((-tokens / rate) * 1000);
  };
  return async (call) => {
    for (let attempt = 1; ; attempt++) {
      await turn();
      try {
        const answer = await call();
        rate = Math.min(limits.perSecond, rate * 1.1);
        return answer;
      } catch (error) {
        if (faultOf(error) !== "throttled" || attempt >= limits.tries) throw error;
        rate = Math.max(SLOWEST, rate / 2);
        const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt);
        await clock.sleep(longest / 2 + (longest / 2) * limits.random());
      }
    }
  };
};
