import { TERMINAL_STATES, type Attempt, type Run } from "../track/index.ts";

// Who watches looks every two seconds at most.
const WATCHED_MILLISECONDS = 15_000;

/** What happens next with a run, and who has to do something, in one sentence. `attempt` is its newest. */
export const outlook = (run: Run, now: number, attempt?: Pick<Attempt, "startedAt">): string => {
  if (run.state === "succeeded") {
    return run.kind === "train" ? `compare its checkpoints: understudy eval start ${run.id}` : "done";
  }
  if (run.state === "lost") return "a person has to decide: resume it, or look at its machine";
  if (TERMINAL_STATES.includes(run.state)) return `resume it: understudy run resume ${run.id}`;
  const watch = `watch it: understudy run logs ${run.id} -f`;
  const seen = run.lastSeenAt === null ? Number.NaN : Date.parse(run.lastSeenAt);
  // What was seen of an earlier attempt says nothing of this one.
  if (Number.isNaN(seen) || seen < Date.parse(attempt?.startedAt ?? "")) return `runs by itself; ${watch}`;
  if (now - seen < WATCHED_MILLISECONDS) return "somebody watches it";
  return `stale since ${run.lastSeenAt}: the job goes on by itself, its record does not until somebody watches; ${watch}`;
};
