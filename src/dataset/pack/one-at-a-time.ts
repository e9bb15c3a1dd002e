import { join } from "node:path";
import { systemClock, type Clock } from "../../core/clock.ts";
import { withProcessLock } from "../../core/process-lock.ts";
import { prepareState, type Project } from "../../core/project.ts";
import { ALL, type Share } from "./share.ts";

interface Turn {
  readonly project: Project;
  readonly name: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Told once, with its pid, when another process of this machine is packing the same data set. */
  readonly onWait?: (holder: number) => void;
}

/**
 * Packs while no other process of this machine packs the same data set whole: two would do all of the work twice, and whoever
 * waits finds it done. Shares are made to be worked on at once, and wait for nobody.
 */
export const oneAtATime = async <Result>(
  { project, name, clock = systemClock, signal, onWait }: Turn,
  share: Share,
  pack: () => Promise<Result>,
): Promise<Result> => {
  await prepareState(project);
  if (share !== ALL) return pack();
  // A container that was killed cannot be told from one that works, and must not hold anybody up.
  const options = { clock, foreign: "ignore" as const, ...(signal && { signal }), ...(onWait && { onWait }) };
  return withProcessLock(join(project.state, "datasets", `${name}.pack-lock`), options, pack);
};
