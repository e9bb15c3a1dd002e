import { TERMINAL_STATES, type Attempt, type Run } from "../track/index.ts";

// Who watches a run of this machine looks every two seconds at most.
const WATCHED_MILLISECONDS = 15_000;

type OutlookAttempt = Pick<Attempt, "startedAt">;

export interface OutlookOptions {
  /** The longest time between two looks of who watches. Default 15 s. */
  readonly watchedMilliseconds?: number;
  /** Why its job cannot be seen now. */
  readonly unavailable?: string | null;
  /** What is less than planned of the jobs that it goes on with. */
  readonly shortfall?: string | null;
}

/** What happens next with a run, and who has to do something, in one sentence. `attempt` is its newest. */
export const outlook = (
  run: Run,
  now: number,
  attempt?: OutlookAttempt,
  options: OutlookOptions = {},
): string => {
  if (TERMINAL_STATES.includes(run.state)) return afterwards(run);
  const { shortfall } = options;
  const words = meanwhile(run, now, attempt, options);
  return shortfall ? `${words}; ${shortfall}: nobody goes on after that but who watches` : words;
};

function meanwhile(
  run: Run,
  now: number,
  attempt: OutlookAttempt | undefined,
  options: OutlookOptions,
): string {
  const watch = `watch it: understudy run watch ${run.id}`;
  const stale = staleSince(run, attempt);
  const isBlind = options.unavailable !== undefined && options.unavailable !== null;
  if (isBlind) {
    const since = stale === null ? "it has not been seen yet" : `stale since ${stale}`;
    const words = `${since}: it cannot be looked at now (${options.unavailable}); nothing is concluded from that`;
    return run.stopRequested ? `${words}; ${settleHint(run)}` : words;
  }
  if (run.state === "waiting" || run.state === "recovering") return `goes on when somebody watches; ${watch}`;
  if (run.state === "ambiguous") return `is settled by looking for its job, when somebody watches; ${watch}`;
  if (stale === null) return `runs by itself; ${watch}`;
  const watched = options.watchedMilliseconds ?? WATCHED_MILLISECONDS;
  if (now - Date.parse(stale) < watched) return "somebody watches it";
  return `stale since ${stale}: the job goes on by itself, its record does not until somebody watches; ${watch}`;
}

// Somebody who wants it to end waits for a machine that may never come back.
const settleHint = ({ id }: Run): string =>
  `its stop is passed on when it can be; if its machine is gone for good: understudy run settle ${id} --as cancelled --because TEXT`;

function afterwards({ id, kind, state, parentId }: Run): string {
  if (state === "succeeded")
    return kind === "train" ? `compare its checkpoints: understudy eval start ${id}` : "done";
  if (state === "lost") {
    return `a person has to decide: look at its machine, then understudy run resume ${id} or understudy run settle ${id}`;
  }
  if (state === "blocked" && parentId !== null)
    return `goes on when ${parentId} does: understudy run resume ${parentId}`;
  return `resume it: understudy run resume ${id}`;
}

/** When the job of a live run was last seen; null when not yet. What was seen of an earlier attempt says nothing of this one. */
export const staleSince = (run: Run, attempt?: OutlookAttempt): string | null => {
  const { lastSeenAt } = run;
  if (lastSeenAt === null || TERMINAL_STATES.includes(run.state)) return null;
  const isEarlier = Date.parse(lastSeenAt) < Date.parse(attempt?.startedAt ?? "");
  return isEarlier ? null : lastSeenAt;
};
