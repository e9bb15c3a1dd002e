import { sha256 } from "../core/hash.ts";
import type { LauncherProfile } from "../launch/index.ts";

/** How often a launcher is asked, and how long what it says may lag. Milliseconds. */
export interface Pace {
  /** Between two looks while something changes. */
  readonly fastest: number;
  /** Between two looks while nothing does. */
  readonly slowest: number;
  /** How long files and accounting may lag behind the end of a job, or behind its acceptance. */
  readonly lag: number;
  /** How long a job must be absent without a break, `lag` included, until a person has to decide. */
  readonly absence: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** The pace of each kind of launcher. A scheduler shared by many is asked no more often than its profile allows. */
export const paceOf = (profile: LauncherProfile): Pace => {
  switch (profile.kind) {
    case "local":
      return { fastest: 200, slowest: 2 * SECOND, lag: 0, absence: MINUTE };
    case "ssh":
      return { fastest: 2 * SECOND, slowest: 30 * SECOND, lag: 10 * SECOND, absence: 5 * MINUTE };
    case "slurm":
      return shared(profile.pollSeconds, { lag: MINUTE, absence: 6 * MINUTE });
    case "sagemaker":
      return shared(profile.pollSeconds, { lag: 2 * MINUTE, absence: 7 * MINUTE });
    default:
      return { fastest: 30 * SECOND, slowest: 30 * SECOND, lag: MINUTE, absence: 6 * MINUTE };
  }
};

function shared(pollSeconds: number, patience: Pick<Pace, "lag" | "absence">): Pace {
  return { fastest: pollSeconds * SECOND, slowest: pollSeconds * SECOND, ...patience };
}

/** The wait after this one: `fastest` again when something changed, else a third longer up to `slowest`. */
export const nextWait = (pace: Pace, wait: number, changed: boolean): number =>
  changed ? pace.fastest : Math.min(pace.slowest, Math.max(pace.fastest, wait * 1.3));

const LONGEST_SILENCE = 5 * MINUTE;

/** The wait after `failures` answers in a row that were none: doubled each time, up to 5 minutes, spread by `key`. */
export const waitUnavailable = (pace: Pace, failures: number, key: string): number =>
  backoff({ first: pace.slowest, longest: Math.max(LONGEST_SILENCE, pace.slowest), tries: failures, key });

/**
 * Doubled with every try, and up to a quarter shorter by chance, so that many who wait for the same do not come at once.
 * The chance is the key's: the same key and try give the same wait.
 */
export const backoff = (of: {
  readonly first: number;
  readonly longest: number;
  /** From 1. */
  readonly tries: number;
  readonly key: string;
}): number => {
  const whole = Math.min(of.longest, of.first * 2 ** Math.min(of.tries - 1, 30));
  const chance = Number.parseInt(sha256(`${of.key} ${of.tries}`).slice(0, 8), 16) / 2 ** 32;
  return Math.round(whole * (1 - chance / 4));
};
