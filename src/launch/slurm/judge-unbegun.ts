import type { EndCause, Observation } from "../schema.ts";
import type { AttemptEvidence } from "./attempt-evidence.ts";
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

/** An attempt that nobody has begun: its jobs wait, start, or have ended without it. */
export const judgeUnbegun = (scene: Scene): Judgement => {
  const waiting = scene.jobs.filter(({ queued }) => queued?.state.state.phase === "live");
  if (waiting.length > 0) return live(waiting);
  const isEnough = scene.jobs.every(
    ({ queued }) => queued !== undefined && queued.state.word !== "CANCELLED",
  );
  return (isEnough ? undefined : waitForAccounts(scene)) ?? over(scene);
};

const ORDER = ["running", "starting", "stopping", "unknown", "queued"];

function live(waiting: readonly JobView[]): Observation {
  const stateOf = ({ queued }: JobView): string =>
    queued?.state.state.phase === "live" ? queued.state.state.state : "unknown";
  const [first] = waiting.toSorted((a, b) => ORDER.indexOf(stateOf(a)) - ORDER.indexOf(stateOf(b)));
  const detail = first === undefined ? "" : describe(first);
  switch (first === undefined ? "unknown" : stateOf(first)) {
    case "queued":
      return { phase: "live", state: "queued", detail, ...neverStarts(first) };
    // On a node, and the program has not been started yet.
    case "running":
    case "starting":
      return { phase: "live", state: "starting", detail };
    case "stopping":
      return { phase: "live", state: "stopping", detail };
    default:
      return { phase: "live", detail };
  }
}

// Slurm leaves such a job in its queue for ever.
function neverStarts(job: JobView | undefined): { readonly warning?: string } {
  return job?.queued?.reason === "DependencyNeverSatisfied"
    ? { warning: `job ${job.id} waits for another one that has failed: it never starts` }
    : {};
}

function over(scene: Scene): Observation {
  for (const job of scene.jobs) {
    const run = job.runs.at(-1);
    const lacking = lacksRow(job, scene);
    if (lacking !== undefined) return lacking;
    if (run !== undefined && isHalfHeard(job, run, scene.now)) {
      return unavailable(`${describe(job)}; the accounts say ${run.state.word}`);
    }
  }
  const last = scene.jobs.flatMap((job) => endOf(job, scene)).at(-1);
  if (last === undefined) {
    const ids = scene.jobs.map(({ id }) => id).join(", ");
    const detail = `job ${ids}: ${nowhere(scene)}, and it left no file`;
    return doubtOfAbsence(scene) ?? { phase: "absent", detail };
  }
  return endedUnbegun(scene, last);
}

interface End {
  readonly job: JobView;
  readonly state: ReadState;
  /** Seconds since the epoch. */
  readonly at: number | null;
}

function endOf(job: JobView, { accounts }: Scene): End[] {
  const run = job.runs.at(-1);
  const state = accounts.kind === "asked" && run !== undefined ? run.state : job.queued?.state;
  return state === undefined ? [] : [{ job, state, at: run?.end ?? job.queued?.end ?? null }];
}

function endedUnbegun(scene: Scene, last: End): Observation {
  const { evidence, jobs, now } = scene;
  const refusal = evidence.chain.givenUp;
  const age = last.at === null ? Infinity : now - last.at;
  const doubt = doubtOfCanceller(last.state.uid, scene);
  if (doubt !== undefined) return doubt;
  // What was on a node may have begun, and its files may be on their way.
  const mayHaveBegun = nodeOf(last.job) !== null || ["COMPLETED", "FAILED"].includes(last.state.word);
  if (refusal === null && mayHaveBegun && age < evidence.lagSeconds) {
    return { phase: "live", state: "stopping", detail: `${describe(last.job)}; its files are not there yet` };
  }
  const owner = evidence.owners.get(last.job.link);
  const isFenced = owner !== undefined && !jobs.some(({ id }) => id === owner);
  const node = isFenced ? null : nodeOf(last.job);
  return {
    phase: "ended",
    result: null,
    cause: isFenced ? "fenced" : causeOf(last.state, scene),
    detail: detailOf(last, evidence, isFenced ? owner : undefined),
    ...(node === null ? {} : { node }),
  };
}

function detailOf({ job, state }: End, { chain, log }: AttemptEvidence, owner: string | undefined): string {
  if (owner !== undefined) return `${describe(job)}; job ${owner} had claimed its marker`;
  if (chain.givenUp !== null) return `${describe(job)}; ${chain.givenUp.reason}`;
  const by = state.uid === null ? "" : ` by user ${state.uid}`;
  const exit = job.runs.at(-1)?.exit;
  const hint =
    exit === "0:53" ? ": a folder of its output is missing on the node, or cannot be written there" : "";
  if (log?.link === job.link) {
    return `${describe(job)}${by}; it had not begun the program, and ${log.path} ends: ${log.words}`;
  }
  return `${describe(job)}${by}; nothing of ours has run${hint}`;
}

// Who cancelled, and whether it was the node's fault, decide what is done next; anything else is just no start.
function causeOf({ state, uid }: ReadState, scene: Scene): EndCause {
  if (state.phase === "live") return "unknown";
  if (state.cause === "cancelled") return cancelledBy(uid, scene);
  return state.cause === "node_fail" || state.cause === "preempted" ? state.cause : "not_started";
}
