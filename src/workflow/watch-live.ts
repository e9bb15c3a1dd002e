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
  if (started) return { to: "running", reason: warned(`running${which}`, observation) };
  const { state, detail } = observation;
  const words = detail === "" ? which : `${which}: ${detail}`;
  if (state === "queued") return { to: "queued", reason: warned(`queued${words}`, observation) };
  if (state === undefined || state === "stopping") return null;
  return { to: "starting", reason: warned(`starting${words}`, observation) };
};

/** What is wrong with a job that lives all the same; null when nothing is. */
export const warningOf = (observation: Observation | undefined): string | null =>
  observation?.phase === "live" ? (observation.warning ?? null) : null;

/** The reason with the warning, so that it is gone from it once the job is seen without. */
export const warned = (reason: string, observation: Observation): string => {
  const warning = warningOf(observation);
  return warning === null ? reason : `${reason}; WARNING: ${warning}`;
};
