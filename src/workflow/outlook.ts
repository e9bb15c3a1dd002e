import { TERMINAL_STATES, type Attempt, type Run, type RunState } from "../track/index.ts";

// Who watches a run of this machine looks every two seconds at most.
const WATCHED_MILLISECONDS = 15_000;

type OutlookAttempt = Pick<Attempt, "startedAt">;

export interface OutlookOptions {
  /** The longest time between two looks of who watches. Default 15 s. */
  readonly watchedMilliseconds?: number;
  /** A process is known to watch it. Default: only what was seen of its job tells. */
  readonly watched?: boolean;
  /** ISO time at which its job was seen by somebody who only looked; null when not. */
  readonly lookedAt?: string | null;
  /** Why its job cannot be seen now. */
  readonly unavailable?: string | null;
  /** What is less than planned of the jobs that it goes on with. */
  readonly shortfall?: string | null;
  /** The run that it waits for. */
  readonly parent?: Pick<Run, "id" | "state"> | undefined;
}

/** What happens next with a run, and who has to do something, in one sentence. `attempt` is its newest. */
export const outlook = (
  run: Run,
  now: number,
  attempt?: OutlookAttempt,
  options: OutlookOptions = {},
): string => {
  if (run.state === "blocked") return whileBlocked(run, options.parent);
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
  const stale = staleSince(run, attempt);
  const unavailable = options.unavailable ?? null;
  if (unavailable !== null) return whileBlind(run, stale, unavailable);
  const age = now - Date.parse(stale ?? "");
  const isWatched = options.watched === true || age < (options.watchedMilliseconds ?? WATCHED_MILLISECONDS);
  if (isWatched) return WATCHED[run.state] ?? "somebody watches it";
  return whileUnwatched(run, stale, options.lookedAt ?? null);
}

function whileBlind(run: Run, stale: string | null, unavailable: string): string {
  const since = stale === null ? "it has not been seen yet" : `stale since ${stale}`;
  const words = `${since}: it cannot be looked at now (${unavailable}); nothing is concluded from that`;
  return run.stopRequested ? `${words}; ${settleHint(run)}` : words;
}

function whileUnwatched(run: Run, stale: string | null, lookedAt: string | null): string {
  const watch = `watch it: understudy run watch ${run.id}`;
  const next = UNWATCHED[run.state];
  if (next !== undefined) return `${next}; ${watch}`;
  const alone = ALONE[run.state] ?? "the job goes on by itself";
  const isOld = stale !== null && (lookedAt === null || lookedAt < stale);
  const seen = isOld ? `stale since ${stale}: ` : "";
  return `${seen}${alone}; nobody watches: its end is recorded, and another attempt begun where one is needed, only when somebody does; ${watch}`;
}

type Words = Readonly<Partial<Record<RunState, string>>>;

const WATCHED: Words = {
  draft: "somebody watches it and sends it",
  packaged: "somebody watches it and sends it",
  waiting: "somebody watches it and sends it when it may go",
  submitting: "somebody watches it and finds out whether its job was accepted",
  ambiguous: "somebody watches it and looks for its job; no second one is sent while there may be a first",
  queued: "somebody watches it; it starts when its scheduler has a machine for it",
  recovering: "somebody watches it and begins the next attempt",
  cancelling: "somebody watches it until it has saved and stopped",
};

// States in which nothing happens by itself.
const UNWATCHED: Words = {
  draft: "nothing was sent yet: that is done when somebody watches",
  packaged: "nothing was sent yet: that is done when somebody watches",
  waiting: "goes on when somebody watches",
  submitting: "whether its job was accepted is found out when somebody watches",
  ambiguous: "is settled by looking for its job, when somebody watches; no second one is sent before",
  recovering: "the next attempt begins, or is recorded, when somebody watches",
};

const ALONE: Words = {
  queued: "the job starts by itself when its scheduler has a machine for it",
  cancelling: "the job saves and stops by itself",
};

// Somebody who wants it to end waits for a machine that may never come back.
const settleHint = ({ id }: Run): string =>
  `its stop is passed on when it can be; if its machine is gone for good: understudy run settle ${id} --as cancelled --because TEXT`;

function afterwards({ id, kind, state }: Run): string {
  if (state === "succeeded")
    return kind === "train" ? `compare its checkpoints: understudy eval start ${id}` : "done";
  if (state === "lost") return `a person has to decide: ${decideHint(id)}`;
  return `resume it: understudy run resume ${id}`;
}

const decideHint = (id: string): string =>
  `look at its machine; if its job is gone, understudy run resume ${id} goes on from the newest checkpoint, and ` +
  `understudy run settle ${id} records what you found`;

function whileBlocked({ parentId }: Run, parent: OutlookOptions["parent"]): string {
  const id = parent?.id ?? parentId;
  if (id === null) return "what it waits for is gone";
  if (parent?.state === "lost")
    return `goes on by itself once ${id} has succeeded, which a person has to decide: ${decideHint(id)}`;
  return `goes on by itself once ${id} has succeeded: understudy run resume ${id}`;
}

/** When the job of a live run was last seen; null when not yet. What was seen of an earlier attempt says nothing of this one. */
export const staleSince = (run: Run, attempt?: OutlookAttempt): string | null => {
  const { lastSeenAt } = run;
  if (lastSeenAt === null || TERMINAL_STATES.includes(run.state)) return null;
  const isEarlier = Date.parse(lastSeenAt) < Date.parse(attempt?.startedAt ?? "");
  return isEarlier ? null : lastSeenAt;
};
