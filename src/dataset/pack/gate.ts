import type { Gate } from "../schema.ts";

/** A gate with everything that violates it; a lock keeps the first of it, in `detail`. */
export interface JudgedGate extends Gate {
  readonly problems: readonly string[];
}

export type Judged = Omit<JudgedGate, "allowed">;

// A lock is read by people and compared by version control.
const MOST_LISTED = 20;

/** A gate that passes, saying `passed`, where there are no problems. */
export const gate = (name: string, problems: readonly string[], passed: string): Judged => {
  if (problems.length === 0) return { name, passed: true, detail: passed, problems };
  const more = problems.length > MOST_LISTED ? [`and ${problems.length - MOST_LISTED} more`] : [];
  const detail = [...problems.slice(0, MOST_LISTED), ...more].join("; ");
  return { name, passed: false, detail, problems };
};

/** The gate as a lock keeps it. */
export const lockedGate = ({ name, passed, detail, allowed }: JudgedGate): Gate => ({
  name,
  passed,
  detail,
  allowed,
});
