import type { Continuation, EndCause, Observation } from "../schema.ts";
import { nextOf } from "./chain.ts";
import type { AccountedJob } from "./sacct.ts";
import {
  cancelledBy,
  describe,
  doubtOfAbsence,
  doubtOfCanceller,
  isHalfHeard,
  lacksRow,
  nodeOf,
  nowhere,
  unavailable,
  waitForAccounts,
  type JobView,
  type Judgement,
  type Scene,
} from "./scene.ts";
import type { ReadState } from "./states.ts";

// Slurm keeps a job that it is going to start again in its queue; one that is not there for so long does not come back.
const REQUEUE_SECONDS = 300;

/**
 * The end of an attempt that had begun in the job `runner`, which does not run any more, or not for this attempt (`isOver`: Slurm
 * has queued it again, or a later attempt has begun).
 */
export const judgeEnd = (scene: Scene, runner: JobView, isOver: boolean): Judgement => {
  const shown = endShown(scene, runner, isOver);
  // Who cancelled a job is in the accounts alone.
  if (shown !== undefined && shown.state.word !== "CANCELLED") return decided(scene, runner, shown);
  const wait = waitForAccounts(scene);
  if (wait !== undefined) return wait;
  const run = runOf(scene, runner);
  if (run !== undefined && isHalfHeard(runner, run, scene.now)) {
    return unavailable(`${describe(runner)}; the accounts say ${run.state.word}`);
  }
  // A row that the accounts have only begun does not say yet who cancelled the job.
  if (run === undefined && runner.isYoung) {
    return unavailable(`job ${runner.id}: the accounts know too little of it yet`);
  }
  const lacking = lacksRow(runner, scene);
  if (lacking !== undefined) return lacking;
  const end = run === undefined ? shown : { state: run.state, at: run.end, isOver };
  return end === undefined ? withoutScheduler(scene, runner, isOver) : decided(scene, runner, end);
};

interface End {
  readonly state: ReadState;
  /** Seconds since the epoch. */
  readonly at: number | null;
  /** The far side has gone on already. */
  readonly isOver: boolean;
}

function decided(scene: Scene, runner: JobView, end: End): Observation {
  const { state, uid } = end.state;
  const isCancelled = state.phase === "ended" && state.cause === "cancelled";
  return (
    (isCancelled ? doubtOfCanceller(uid, scene) : undefined) ??
    (end.isOver ? undefined : holdOf(scene, runner, end)) ??
    ended(scene, runner, causeOf(end.state, scene), end.state)
  );
}

// The queue shows the newest start of a job only: it says nothing of an attempt before that.
function endShown({ evidence }: Scene, { id, queued }: JobView, isOver: boolean): End | undefined {
  return queued?.state.state.phase === "ended" && evidence.nextJob !== id
    ? { state: queued.state, at: queued.end, isOver }
    : undefined;
}

function runOf({ evidence, now }: Scene, { runs }: JobView): AccountedJob | undefined {
  const { result } = evidence.chain;
  const at = result === null ? undefined : Date.parse(result.startedAt) / 1000;
  const fitting =
    at === undefined
      ? undefined
      : runs.find(({ start, end }) => start !== null && start - 5 <= at && at <= (end ?? now) + 5);
  return fitting ?? runs[evidence.restart] ?? runs.at(-1);
}

/** Why an end does not count yet. */
function holdOf({ evidence, now }: Scene, runner: JobView, { state, at }: End): Observation | undefined {
  const age = at === null ? Infinity : now - at;
  const cause = state.state.phase === "ended" ? state.state.cause : "preempted";
  if (
    evidence.chain.result === null &&
    ["completed", "failed"].includes(cause) &&
    age < evidence.lagSeconds
  ) {
    return { phase: "live", state: "stopping", detail: `${describe(runner)}; its result is not there yet` };
  }
  // Between two runs of a job the queue may not show it for a moment.
  if (runner.queued === undefined && ["preempted", "node_fail"].includes(cause) && age < REQUEUE_SECONDS) {
    return unavailable(
      `${describe(runner)}; it counts as over when Slurm has not queued it again after ${REQUEUE_SECONDS / 60} minutes`,
    );
  }
  return undefined;
}

function causeOf({ state, uid }: ReadState, scene: Scene): EndCause {
  const { result } = scene.evidence.chain;
  if (result?.exitCode === 0) return "completed";
  if (result?.exitCode === 75 && result.reason === "exited") return "fenced";
  // REQUEUED: somebody sent it back to the queue.
  if (state.phase === "live") return "preempted";
  if (state.cause === "cancelled") return cancelledBy(uid, scene);
  return state.cause === "completed" || state.cause === "failed" ? ownEnd(state.cause, scene) : state.cause;
}

/** The job ended by itself: because it was asked to, or not. */
function ownEnd(cause: EndCause, { evidence }: Scene): EndCause {
  const { result, stop, runStopped } = evidence.chain;
  if (result === null) return runStopped ? "cancelled" : cause;
  // A crash and a wrong manifest are no answer to a stop.
  if (result.exitCode === 1 || result.exitCode === 2) return "failed";
  if (runStopped) return "cancelled";
  return stop === "signal USR1" ? "walltime" : "failed";
}

function withoutScheduler(scene: Scene, runner: JobView, isOver: boolean): Observation {
  const { ref, evidence } = scene;
  if (runner.isYoung) return unavailable(`job ${runner.id}: the accounts know too little of it yet`);
  if (evidence.chain.result !== null) {
    const byItself: ReadState = { word: "", uid: null, state: { phase: "ended", cause: "failed" } };
    return ended(scene, runner, causeOf(byItself, scene));
  }
  if (isOver) return ended(scene, runner, "unknown");
  return (
    doubtOfAbsence(scene) ?? {
      phase: "absent",
      detail: `job ${runner.id}: ${nowhere(scene)}; ${ref.marker} had begun and left no result`,
    }
  );
}

function ended(scene: Scene, runner: JobView, cause: EndCause, state?: ReadState): Observation {
  const { chain, log, node } = scene.evidence;
  const { result } = chain;
  const continues = continuation(scene, runner);
  const where = node ?? nodeOf(runner);
  const how = result === null ? "no result" : (result.signal ?? `exit ${result.exitCode}`);
  const own = result === null || result.detail === "" ? "" : `: ${result.detail}`;
  const more = own === "" && log?.link === runner.link ? `; ${log.path} ends: ${log.words}` : own;
  const words = `${describe(runner)}${wordsOf(runner, state)}; ${how}${more}`;
  return {
    phase: "ended",
    result,
    cause,
    detail: cleanStop(runner, scene, state) ?? words,
    ...(where === null ? {} : { node: where }),
    ...(continues === undefined ? {} : { continues }),
  };
}

// CONTRACT.md: it has kept what it has and stopped.
const STOPPED = 3;

// Whoever asked for a stop reads FAILED as a failure: for Slurm every exit code but 0 is one.
function cleanStop(runner: JobView, { evidence }: Scene, state: ReadState | undefined): string | undefined {
  const { result } = evidence.chain;
  if (state?.word !== "FAILED" || result?.exitCode !== STOPPED || result.reason !== "exited")
    return undefined;
  const where = evidence.node ?? nodeOf(runner);
  const place = where === null ? "" : ` on ${where}`;
  return `job ${runner.id}${place}: the program stopped cleanly (exit ${STOPPED}, which Slurm calls ${state.word})`;
}

function wordsOf({ queued }: JobView, state: ReadState | undefined): string {
  if (state === undefined) return "";
  const word = queued?.state.word === state.word ? "" : `, ${state.word}`;
  return `${word}${state.uid === null ? "" : ` by user ${state.uid}`}`;
}

function continuation({ evidence, jobs }: Scene, runner: JobView): Continuation | undefined {
  const { chain, next } = evidence;
  const waits = jobs.some(({ link, queued }) => link >= runner.link && queued?.state.state.phase === "live");
  const goesOn = chain.newer > 0 || (waits && chain.givenUp === null && nextOf(chain) === "depends");
  return goesOn && next !== null ? next : undefined;
}
