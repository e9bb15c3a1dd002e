import { exists } from "../core/files.ts";
import { TERMINAL_STATES, type Attempt, type Run } from "../track/index.ts";
import { budgetStates, nextAttemptAt, type BudgetState } from "./budgets.ts";
import { attemptsSinceResume } from "./end-attempt.ts";
import { lookAtRuns, type Ask, type Sighting } from "./look-at-runs.ts";
import { outlook, staleSince, type OutlookOptions } from "./outlook.ts";
import { reportPath } from "./report-run.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { refsOf } from "./submit.ts";
import { TEST_OPENED } from "./test-opened.ts";
import { notesOf } from "./watch-notes.ts";
import { paceOf } from "./watch-pace.ts";
import { readWatchers } from "./watch-sign.ts";
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
 * Looks at runs without acting, with one question to each launcher at most; then what is true of each run now. Default: all
 * runs, newest first.
 */
export const summariesOf = async (
  shop: Shop,
  ids?: readonly string[],
  { ask = "now", kind }: { readonly ask?: Ask; readonly kind?: Run["kind"] } = {},
): Promise<readonly RunSummary[]> => {
  const heads = shop.store.watchedRuns().filter(({ id, state }) => isAsked(ids, id) && state !== "blocked");
  const seen = await lookAtRuns(shop, heads, ask);
  const isWatched = await readWatchers(shop);
  const runs =
    ids === undefined
      ? shop.store.listRuns(kind === undefined ? {} : { kind })
      : ids.map((id) => shop.store.getRun(id));
  return Promise.all(
    runs.map(async (run) => {
      const sighting = seen.get(run.id) ?? NOTHING_SEEN;
      const evaluation = await evaluationOf(shop, run);
      return summaryOf(shop, run, {
        ...sighting,
        evaluation,
        watched: sighting.watched || isWatched(run.id),
      });
    }),
  );
};

const isAsked = (ids: readonly string[] | undefined, id: string): boolean => ids?.includes(id) ?? true;

interface Known extends Sighting {
  readonly evaluation: OutlookOptions["evaluation"];
}

// Only what comes after a training needs it.
async function evaluationOf(shop: Shop, { id, kind, state }: Run): Promise<OutlookOptions["evaluation"]> {
  if (kind !== "train" || state !== "succeeded") return undefined;
  const begun = shop.store.events(id, { types: [TEST_OPENED], limit: 1 }).length > 0;
  const report = reportPath(shop, id);
  return { begun, report: begun && (await exists(report)) ? report : null };
}

function summaryOf(shop: Shop, run: Run, known: Known): RunSummary {
  const attempts = shop.store.attempts(run.id);
  const now = shop.clock.now();
  const isOver = TERMINAL_STATES.includes(run.state);
  const { evaluation } = known;
  const seen = isOver ? NOTHING_SEEN : known;
  const { unavailable, warning, trouble, watched } = seen;
  const current = attempts.at(-1);
  const lookedAt = unavailable === null && trouble === null ? lookedAtOf(current, seen) : null;
  const lastSeen = later(staleSince(run, current), lookedAt);
  const freshMilliseconds = isOver ? 0 : freshFor(run);
  const unavailableAt = seen.own ? null : seen.askedAt;
  const shortfall = isOver ? null : shortfallOf(shop, run, attempts);
  const parent = parentOf(shop, run);
  const since = attemptsSinceResume(shop, run, attempts);
  const about = {
    freshMilliseconds,
    watched,
    lookedAt,
    unavailable,
    unavailableAt,
    shortfall,
    parent,
    evaluation,
  };
  return {
    run,
    attempts,
    next: outlook(run, now, current, about),
    lastSeen,
    isStale: unavailable !== null || (lastSeen !== null && now - Date.parse(lastSeen) >= freshMilliseconds),
    nextTryAt: isOver ? null : nextTryAt(since, current),
    budgets: budgetStates(since, now),
    unavailable,
    warning,
    shortfall,
    trouble,
  };
}

// Only a blocked run needs something of its parent.
const parentOf = (shop: Shop, { state, parentId }: Run): Run | undefined =>
  state === "blocked" && parentId !== null ? shop.store.findRun(parentId) : undefined;

const NOTHING_SEEN: Sighting = {
  unavailable: null,
  warning: null,
  trouble: null,
  askedAt: null,
  own: false,
  watched: false,
};

// An attempt that began after the question was not seen in its answer.
function lookedAtOf(attempt: Attempt | undefined, seen: Sighting): string | null {
  if (seen.askedAt === null || attempt === undefined) return null;
  if (attempt.endedAt !== null || refsOf(attempt).length === 0) return null;
  return seen.askedAt < attempt.startedAt ? null : seen.askedAt;
}

const later = (a: string | null, b: string | null): string | null => {
  if (a === null || b === null) return a ?? b;
  return a < b ? b : a;
};

// Who watches looks that often at least; a lock that cannot be read is a trouble told elsewhere.
function freshFor(run: Run): number {
  try {
    return 2 * paceOf(lockOf(run).job.profile).slowest + 11_000;
  } catch {
    return 60_000;
  }
}

function nextTryAt(since: readonly Attempt[], attempt: Attempt | undefined): string | null {
  if (attempt === undefined) return null;
  const time = attempt.endedAt === null ? notesOf(attempt).refused?.nextAt : nextAttemptAt(since);
  return time === undefined || time === null ? null : new Date(time).toISOString();
}
