import type { Observation } from "../schema.ts";
import type { AttemptEvidence } from "./attempt-evidence.ts";
import { judgeEnd } from "./judge-end.ts";
import { judgeUnbegun } from "./judge-unbegun.ts";
import {
  describe,
  doubtOfAbsence,
  nowhere,
  waitForAccounts,
  type JobView,
  type Judgement,
  type Scene,
} from "./scene.ts";

/**
 * What queue, accounts and files together say about an attempt. Files say how the program ended and who goes on, the scheduler
 * says whether the job ended and why. What contradicts itself is `unavailable`: it moves nothing.
 */
export const judge = (scene: Scene): Judgement => {
  const { evidence } = scene;
  if (evidence.chain.state === "not-begun") return judgeUnbegun(scene);
  const runner = evidence.job === null ? nameless(scene) : scene.jobs.find(({ id }) => id === evidence.job);
  if (runner === undefined) return foreign(scene);
  const state = runner.queued?.state.state;
  const isOver = evidence.nextJob !== null || (state?.phase === "live" && state.state === "queued");
  return state?.phase === "live" && !isOver ? liveRunner(runner, evidence) : judgeEnd(scene, runner, isOver);
};

/**
 * Whose attempt it was that was begun without a name, or is taken for it: a job that was killed right then, or could not write.
 * Such a job has claimed its link and left no record. Undefined while one of them may still say that it was it.
 */
function nameless({ jobs, evidence }: Scene): JobView | undefined {
  const claimed = jobs.filter(({ id, link }) => evidence.owners.get(link) === id);
  const next = claimed.find(({ id }) => id === evidence.nextJob);
  const mayBegin = jobs.filter((job) => isLive(job) && (claimed.length === 0 || claimed.includes(job)));
  if (evidence.nextJob === null && mayBegin.length > 0) return undefined;
  const silent = claimed.filter(
    ({ id, link }) => link <= (next?.link ?? Infinity) && evidence.chain.links.every(({ job }) => job !== id),
  );
  return silent.at(-1) ?? next ?? claimed.at(-1) ?? jobs.at(-1);
}

const isLive = ({ queued }: JobView): boolean => queued?.state.state.phase === "live";

/** Another submission was faster with this number. Jobs of the ref that wait, or have begun, go on under a later one. */
function foreign(scene: Scene): Judgement {
  const { ref, evidence, jobs } = scene;
  if (evidence.job === null) {
    return { phase: "live", state: "starting", detail: "its job has not said its name yet" };
  }
  const waits = jobs.some(isLive) && evidence.chain.givenUp === null && !evidence.chain.runStopped;
  const continues = evidence.hasLater || waits ? evidence.next : null;
  if (continues === null) {
    const unheard = unheardOf(scene);
    if (unheard !== undefined) return unheard;
  }
  return {
    phase: "ended",
    result: null,
    cause: "fenced",
    detail: `job ${evidence.job} runs ${ref.marker}, not ${ref.jobs.map(({ id }) => id).join(", ")}`,
    ...(continues === null ? {} : { continues }),
  };
}

// A job that is not listed may be younger than the look at the queue: it has not lost anything yet.
function unheardOf(scene: Scene): Judgement | undefined {
  if (scene.jobs.every(({ queued }) => queued !== undefined)) return undefined;
  const wait = waitForAccounts(scene);
  if (wait !== undefined) return wait;
  const job = scene.jobs.find(({ queued, runs }) => queued === undefined && runs.length === 0);
  if (job === undefined) return undefined;
  return doubtOfAbsence(scene) ?? { phase: "absent", detail: `job ${job.id}: ${nowhere(scene)}` };
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
