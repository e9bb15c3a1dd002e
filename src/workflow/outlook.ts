import { TERMINAL_STATES, type Run } from "../track/index.ts";

// A controller looks every few seconds; after this long nobody does.
const STALE_MILLISECONDS = 60_000;

/** What happens next with a run, and who has to do something, in one sentence. */
export const outlook = (run: Run, now: number): string => {
  if (run.state === "succeeded") return "done";
  if (run.state === "lost") return "a person has to decide: resume it, or look at its machine";
  if (TERMINAL_STATES.includes(run.state)) return `resume it: understudy run resume ${run.id}`;
  const seen = run.lastSeenAt ?? run.updatedAt;
  if (now - Date.parse(seen) < STALE_MILLISECONDS) return "somebody watches it";
  return `stale since ${seen}: the job goes on by itself, its record does not until somebody watches: understudy run logs ${run.id} -f`;
};
