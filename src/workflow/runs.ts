import { RemoteError, UserError } from "../core/errors.ts";
import type { Job, JobRef } from "../launch/index.ts";
import { newRunId, TERMINAL_STATES, type NewRun, type Run, type RunState } from "../track/index.ts";
import { advanceRun, type Advance } from "./advance.ts";
import { RESUMED } from "./end-attempt.ts";
import { recordGit } from "./git-state.ts";
import { hasten } from "./hasten.ts";
import { withLease } from "./lease.ts";
import { tellChildren } from "./tell-children.ts";
import { move } from "./move.ts";
import { goneHint } from "./outlook.ts";
import type { PreparedTraining } from "./prepare-training.ts";
import { runFolder } from "./run-folder.ts";
import type { Proof, RunLock } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, openAttempt, refsOf } from "./submit.ts";
import { notesOf } from "./watch-notes.ts";

export interface NewJob {
  readonly job: Job;
  readonly proof: Proof;
  readonly profileName: string;
  readonly training: PreparedTraining | null;
  readonly name: string;
  readonly parentId?: string;
  readonly pipelineId?: string;
}

/** Records a run and its lock, then submits its first attempt. A run with this id is left as it is and looked at. */
export const startRun = async (shop: Shop, request: NewJob): Promise<Run> => {
  const { job, training } = request;
  if (shop.store.findRun(job.runId) === undefined) {
    const lock: RunLock = {
      schemaVersion: 1,
      job: { ...job, manifest: { ...job.manifest }, secrets: [...job.secrets], inputs: [...job.inputs] },
      proof: request.proof,
      profileName: request.profileName,
      resolved: training?.resolution.resolved ?? null,
      git: await recordGit(shop, runFolder(shop, job.runId)),
      forced: [...(training?.forced ?? [])],
      origins: Object.fromEntries((training?.loaded.values ?? []).map(({ path, origin }) => [path, origin])),
    };
    shop.store.createRun(newRun(request, lock));
  }
  const { run } = await advanceRun(shop, job.runId);
  return run;
};

function newRun({ job, training, name, parentId, pipelineId }: NewJob, lock: RunLock): NewRun {
  return {
    id: job.runId,
    kind: job.kind,
    name,
    recipeDigest: training?.resolution.digest ?? null,
    lock,
    ...(parentId === undefined ? {} : { parentId }),
    ...(pipelineId === undefined ? {} : { pipelineId }),
  };
}

/** A run id that begins with a recipe's name and that no run has yet. */
export const freshRunId = (shop: Pick<Shop, "store">, name: string): string => {
  for (;;) {
    const id = newRunId(name);
    if (shop.store.findRun(id) === undefined) return id;
  }
};

export interface Stopped extends Advance {
  /** Its job was told. */
  readonly passedOn: boolean;
}

/**
 * Asks a run to save and stop (or ends it now), whoever controls it: where another controller holds the run (`heldBy`), the
 * request is recorded with its mode and that one acts on it. The request stands even when its machine cannot be reached now (RemoteError
 * `STOP_PENDING`): whoever watches passes it on. A run that has ended is a UserError.
 */
export const stopRun = async (shop: Shop, runId: string, mode: "graceful" | "now"): Promise<Stopped> => {
  const before = shop.store.getRun(runId);
  // One that is blocked would go on with what it waits for.
  if (before.state !== "blocked" && TERMINAL_STATES.includes(before.state)) {
    throw new UserError("RUN_ENDED", `Run ${runId} has ended already: ${before.state}, ${before.reason}`, {
      hint:
        before.state === "succeeded"
          ? `nothing is left to stop; see it: understudy run show ${runId}`
          : `nothing is left to stop; to go on with it: understudy run resume ${runId}`,
    });
  }
  shop.store.requestStop(runId, mode);
  const attempt = openAttempt(shop, before);
  try {
    if (mode === "now") await endNow(shop, before, attempt ? refsOf(attempt) : []);
    return await untilPassedOn(shop, runId, mode);
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    throw new RemoteError(
      "STOP_PENDING",
      `The stop of run ${runId} is recorded, but not passed on: ${error.message}`,
      {
        hint: `it is passed on as soon as the machine can be reached, by whoever watches: understudy run watch ${runId}`,
        cause: error,
      },
    );
  }
};

/**
 * What happened while nobody watched is taken in first, one attempt after the other: the stop has to reach the one that runs now.
 * Ends early when another controller holds the run, or when nothing changes any more.
 */
async function untilPassedOn(shop: Shop, runId: string, mode: "graceful" | "now"): Promise<Stopped> {
  for (let before = ""; ;) {
    const advance = await advanceRun(shop, runId);
    const { run, heldBy } = advance;
    const unsent = { ...advance, passedOn: false };
    if (heldBy !== null || TERMINAL_STATES.includes(run.state)) return unsent;
    const attempt = openAttempt(shop, run);
    const { cancelSent, endSent } = attempt ? notesOf(attempt) : {};
    if (mode === "now" ? endSent : cancelSent) return { ...advance, passedOn: true };
    const silent = advance.unavailable ?? advance.unanswered;
    if (silent !== null) throw new RemoteError("STOP_UNSENT", silent);
    const now = JSON.stringify([run.state, run.reason, attempt]);
    if (now === before) return unsent;
    before = now;
  }
}

async function endNow(shop: Shop, run: Run, refs: readonly JobRef[]): Promise<void> {
  const launcher = await launcherOf(shop, run);
  for (const ref of refs) await launcher.cancel(ref, "now");
}

const RESUMABLE: readonly RunState[] = ["failed", "cancelled", "timed_out", "lost"];

/**
 * Opens another attempt of a run that ended short of its goal; it goes on from its newest complete checkpoint. Runs that
 * were blocked by it wait for it again. One that waits to be sent again is tried at once.
 */
export const resumeRun = async (shop: Shop, runId: string): Promise<Run> => {
  const before = shop.store.getRun(runId);
  // It has not ended: what it waits for is tried now.
  if (await hasten(shop, before)) return (await advanceRun(shop, runId)).run;
  requireResumable(before);
  const held = await withLease(shop, runId, async (lease) => {
    // Another resume may have come first: then this one has nothing left to do.
    if (!RESUMABLE.includes(shop.store.getRun(runId).state)) return;
    shop.store.clearStop(lease);
    const afterAttempt = shop.store.attempts(runId).at(-1)?.number ?? 0;
    shop.store.appendEvent(lease, { type: RESUMED, data: { afterAttempt } });
    move(shop, lease, shop.store.getRun(runId), { to: "submitting", reason: "resumed by hand" });
  });
  if (held.outcome === "held") {
    throw new UserError("RUN_HELD", `Run ${runId} is being worked on by ${held.owner}`, {
      hint: "try again in a minute",
    });
  }
  const { run } = await advanceRun(shop, runId);
  await tellChildren(shop, runId);
  return run;
};

function requireResumable(run: Run): void {
  const { id, state, parentId } = run;
  if (RESUMABLE.includes(state)) return;
  if (state === "succeeded") {
    throw new UserError("RUN_SUCCEEDED", `Run ${id} has succeeded: there is nothing to resume`);
  }
  if (state === "blocked") {
    throw new UserError("RUN_BLOCKED", `Run ${id} is blocked by run ${parentId ?? "?"}`, {
      hint: `resume that one, and this one goes on by itself: understudy run resume ${parentId ?? "RUN"}`,
    });
  }
  if (state === "ambiguous") {
    throw new UserError("RUN_LIVE", `Run ${id} is ambiguous, so it cannot be resumed: ${run.reason}`, {
      hint: `it is settled by itself once its machine answers: understudy run watch ${id}; ${goneHint(run)}`,
    });
  }
  throw new UserError("RUN_LIVE", `Run ${id} is ${state}: it does not need to be resumed`, {
    hint: liveHint(run),
  });
}

const HAS_JOB: readonly RunState[] = ["queued", "starting", "running", "cancelling"];

function liveHint(run: Run): string {
  const { id, state, reason, stopRequested } = run;
  if (stopRequested) return `it is to stop: resume it when it has; ${goneHint(run)}`;
  return HAS_JOB.includes(state)
    ? `follow it: understudy run logs ${id} -f`
    : `it goes on when somebody watches: understudy run watch ${id}${reason === "" ? "" : ` (${reason})`}`;
}
