import { TERMINAL_STATES, type Attempt, type Run } from "../track/index.ts";
import { budgetStates, nextAttemptAt, type BudgetState } from "./budgets.ts";
import { attemptsSinceResume } from "./end-attempt.ts";
import { outlook, staleSince } from "./outlook.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { watchPass } from "./watch.ts";
import { newWatcher } from "./watch-groups.ts";
import type { RunLook } from "./watch-look.ts";
import { notesOf } from "./watch-notes.ts";
import { paceOf } from "./watch-pace.ts";
import { shortfallOf } from "./watch-shortfall.ts";

/** What a person wants to know of a run. */
export interface RunSummary {
  readonly run: Run;
  readonly attempts: readonly Attempt[];
  /** What happens next, and who has to do something. */
  readonly next: string;
  /** ISO time at which the job of a live run was last seen; null when it was not, or has ended. */
  readonly lastSeen: string | null;
  /** Nobody has looked for longer than who watches would, or nothing can be seen. */
  readonly isStale: boolean;
  /** ISO time at which whoever watches tries again; null when nothing waits for a time. */
  readonly nextTryAt: string | null;
  /** Counted from the newest resume by hand on. */
  readonly budgets: readonly BudgetState[];
  /** Why its job could not be seen just now. */
  readonly unavailable: string | null;
  /** What is wrong with its job, which lives all the same. */
  readonly warning: string | null;
  /** What is less than planned of the jobs that it goes on with, e.g. a shorter chain. */
  readonly shortfall: string | null;
  /** What went wrong with this run alone. */
  readonly trouble: string | null;
}

/**
 * Looks at runs without acting: one question to each launcher, then what is true of each run now. Default: all runs, newest
 * first.
 */
export const summariesOf = async (shop: Shop, ids?: readonly string[]): Promise<readonly RunSummary[]> => {
  const request = ids === undefined ? {} : { runs: ids };
  const { looks } = await watchPass(shop, newWatcher(), { ...request, purpose: "look", once: true });
  const byId = new Map(looks.map((look) => [look.id, look]));
  const runs = ids === undefined ? shop.store.listRuns() : ids.map((id) => shop.store.getRun(id));
  return runs.map((run) => summaryOf(shop, run, byId.get(run.id)));
};

function summaryOf(shop: Shop, run: Run, look: RunLook | undefined): RunSummary {
  const attempts = shop.store.attempts(run.id);
  const now = shop.clock.now();
  const unavailable = look?.unavailable ?? null;
  const lastSeen = staleSince(run, attempts.at(-1));
  const watchedMilliseconds = watchedFor(run);
  const shortfall = TERMINAL_STATES.includes(run.state) ? null : shortfallOf(shop, run, attempts);
  return {
    run,
    attempts,
    next: outlook(run, now, attempts.at(-1), { watchedMilliseconds, unavailable, shortfall }),
    lastSeen,
    isStale: unavailable !== null || (lastSeen !== null && now - Date.parse(lastSeen) >= watchedMilliseconds),
    nextTryAt: nextTryAt(shop, run, attempts.at(-1)),
    budgets: budgetStates(attemptsSinceResume(shop, run), now),
    unavailable,
    warning: look?.warning ?? null,
    shortfall,
    trouble: look?.trouble ?? null,
  };
}

// Who watches looks that often at least; a lock that cannot be read is a trouble told elsewhere.
function watchedFor(run: Run): number {
  try {
    return 2 * paceOf(lockOf(run).job.profile).slowest + 11_000;
  } catch {
    return 60_000;
  }
}

function nextTryAt(shop: Shop, run: Run, attempt: Attempt | undefined): string | null {
  if (TERMINAL_STATES.includes(run.state) || attempt === undefined) return null;
  const open = attempt.endedAt === null;
  const time = open ? notesOf(attempt).refused?.nextAt : nextAttemptAt(attemptsSinceResume(shop, run));
  return time === undefined || time === null ? null : new Date(time).toISOString();
}
