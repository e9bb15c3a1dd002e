import { TERMINAL_STATES, type Attempt, type Run, type RunState } from "../track/index.ts";

// What was seen of a run of this machine is called old after that.
const FRESH_MILLISECONDS = 15_000;

type OutlookAttempt = Pick<Attempt, "startedAt">;

export interface OutlookOptions {
  /** What was seen of its job is called stale after that. Default 15 s. */
  readonly freshMilliseconds?: number;
  /** A process is known to watch it, and goes on. Default: no. */
  readonly watched?: boolean;
  /** ISO time at which its job was seen by somebody who only looked; null when not. */
  readonly lookedAt?: string | null;
  /** Why its job cannot be seen now. */
  readonly unavailable?: string | null;
  /** ISO time of the question that `unavailable` answers, where another command asked it; null: it was asked just now. */
  readonly unavailableAt?: string | null;
  /** What has become of the evaluation of a training run. Default: there is none. */
  readonly evaluation?: { readonly begun: boolean; readonly report: string | null } | undefined;
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
  if (TERMINAL_STATES.includes(run.state)) return afterwards(run, options.evaluation);
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
  if (unavailable !== null) {
    const since = stale === null ? unseenWords(run) : `stale since ${stale}`;
    return `${since}: ${whileBlind(run, unavailable, options)}`;
  }
  if (options.watched === true) return whileWatched(run);
  const lookedAt = options.lookedAt ?? null;
  const isOld = now - Date.parse(stale ?? "") >= (options.freshMilliseconds ?? FRESH_MILLISECONDS);
  const isStale = isOld && (lookedAt === null || lookedAt < (stale ?? ""));
  return whileUnwatched(run, isStale ? stale : null);
}

// An earlier attempt may have been.
const unseenWords = ({ lastSeenAt }: Run): string =>
  lastSeenAt === null ? "it has not been seen yet" : "this attempt has not been seen yet";

function whileBlind(run: Run, unavailable: string, { unavailableAt, watched }: OutlookOptions): string {
  // Where the run's own words say it, once is enough.
  const why = run.reason.includes(unavailable) ? "" : ` (${unavailable})`;
  const seen =
    unavailableAt === undefined || unavailableAt === null
      ? `it cannot be looked at now${why}`
      : `it could not be looked at when another command asked, at ${unavailableAt}${why}; to ask now: understudy run show ${run.id} --fresh`;
  const again = watched === true ? "; who watches it asks again" : "";
  const words = `${seen}${again}; nothing is concluded from that`;
  return run.stopRequested ? `${words}; its stop is passed on when it can be; ${goneHint(run)}` : words;
}

function whileWatched(run: Run): string {
  const words = WATCHED[run.state] ?? "somebody watches it";
  return run.state === "ambiguous" ? `${words}; ${goneHint(run)}` : words;
}

function whileUnwatched(run: Run, stale: string | null): string {
  const watch = `watch it: understudy run watch ${run.id}`;
  const next = UNWATCHED[run.state];
  const gone = run.state === "ambiguous" ? `${goneHint(run)}; ` : "";
  if (next !== undefined) return `${next}; ${gone}${watch}`;
  const alone = ALONE[run.state] ?? "the job goes on by itself";
  const seen = stale === null ? "" : `stale since ${stale}: `;
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
  waiting: "goes on, or is tried again, only when somebody watches",
  submitting: "whether its job was accepted is found out when somebody watches",
  ambiguous:
    "is settled by itself once its machine answers, when somebody watches; no second job is sent before",
  recovering: "the next attempt begins, or is recorded, when somebody watches",
};

const ALONE: Words = {
  queued: "the job starts by itself when its scheduler has a machine for it",
  cancelling: "the job saves and stops by itself",
};

/** What a person can do about a run whose machine may never come back. */
export const goneHint = ({ id, stopRequested }: Pick<Run, "id" | "stopRequested">): string =>
  `if its machine is gone for good: understudy run settle ${id} --as ${stopRequested ? "cancelled" : "failed"} --because TEXT`;

function afterwards({ id, kind, state }: Run, evaluation: OutlookOptions["evaluation"]): string {
  if (state === "succeeded" && kind !== "train") return "done";
  if (state === "succeeded") {
    if (evaluation?.report) return `done; its report: ${evaluation.report}`;
    return evaluation?.begun === true
      ? `its evaluation was begun and has no report yet; go on with it: understudy eval start ${id}`
      : `compare its checkpoints: understudy eval start ${id}`;
  }
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
