import type { PayloadLine, RunHead } from "../track/index.ts";

/** What one look at one run has brought. */
export interface RunLook {
  readonly id: string;
  readonly state: RunHead["state"];
  /** The state in words. */
  readonly reason: string;
  readonly changed: boolean;
  readonly lines: readonly PayloadLine[];
  readonly heldBy: string | null;
  /** Why its job could not be seen; its state is as it was. */
  readonly unavailable: string | null;
  /** What is wrong with its job, which lives all the same. */
  readonly warning: string | null;
  /** What went wrong with this run alone. */
  readonly trouble: string | null;
}

/** A look that has brought nothing new, but for what is told in `but`. */
export const asBefore = (
  { id, state, reason }: Pick<RunHead, "id" | "state" | "reason">,
  but: Partial<Pick<RunLook, "unavailable" | "warning" | "trouble">> = {},
): RunLook => ({
  id,
  state,
  reason,
  changed: false,
  lines: [],
  heldBy: null,
  unavailable: null,
  warning: null,
  trouble: null,
  ...but,
});
