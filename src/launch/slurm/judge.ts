import type { Observation } from "../schema.ts";
import type { AttemptEvidence } from "./attempt-evidence.ts";
import { judgeEnd } from "./judge-end.ts";
import { judgeUnbegun } from "./judge-unbegun.ts";
import { describe, type JobView, type Judgement, type Scene } from "./scene.ts";

/**
 * What queue, accounts and files together say about an attempt. Files say how the program ended and who goes on, the scheduler
 * says whether the job ended and why. What contradicts itself is `unavailable`: it moves nothing.
 */
export const judge = (scene: Scene): Judgement => {
  const { evidence } = scene;
  if (evidence.chain.state === "not-begun") return judgeUnbegun(scene);
  const runner = scene.jobs.find(({ id }) => id === evidence.job);
  if (runner === undefined) return isForeign(scene);
  const state = runner.queued?.state.state;
  const isOver = evidence.nextJob !== null || (state?.phase === "live" && state.state === "queued");
  return state?.phase === "live" && !isOver ? liveRunner(runner, evidence) : judgeEnd(scene, runner, isOver);
};

function isForeign({ ref, evidence }: Scene): Observation {
  if (evidence.job === null) {
    return { phase: "live", state: "starting", detail: "its job has not said its name yet" };
  }
  return {
    phase: "ended",
    result: null,
    cause: "fenced",
    detail: `job ${evidence.job} runs ${ref.marker}, not ${ref.jobs.map(({ id }) => id).join(", ")}`,
  };
}

function liveRunner(runner: JobView, { chain }: AttemptEvidence): Observation {
  const state = runner.queued?.state.state;
  const detail = describe(runner);
  if (chain.result !== null) {
    return { phase: "live", state: "stopping", detail: `${detail}; the program has ended` };
  }
  return state?.phase === "live" && state.state !== "unknown"
    ? { phase: "live", state: state.state, detail }
    : { phase: "live", detail };
}
