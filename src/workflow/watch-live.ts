import type { Observation } from "../launch/index.ts";
import type { RunState } from "../track/index.ts";

/**
 * The state of a run whose job lives, with words; null while nothing says which. Pure. `running` is what the program itself
 * has said: a scheduler's word only tells that it has a machine.
 */
export const liveState = (of: {
  readonly observation: Observation;
  readonly attempt: number;
  /** The payload has written that it started, in this attempt. */
  readonly started: boolean;
}): { readonly to: RunState; readonly reason: string } | null => {
  const { observation, attempt, started } = of;
  if (observation.phase !== "live") return null;
  const which = attempt === 1 ? "" : ` (attempt ${attempt})`;
  if (started) return { to: "running", reason: `running${which}` };
  const { state, detail } = observation;
  if (state === "queued")
    return { to: "queued", reason: `queued${which}${detail === "" ? "" : `: ${detail}`}` };
  if (state === undefined || state === "stopping") return null;
  return { to: "starting", reason: `starting${which}${detail === "" ? "" : `: ${detail}`}` };
};
