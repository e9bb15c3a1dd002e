import { z } from "zod";
import { InternalError } from "../core/errors.ts";
import { JobRef, markerOf, type Continuation, type Observation } from "../launch/index.ts";
import { endReason, type Attempt, type Ending, type Lease, type Run } from "../track/index.ts";
import { hasBudget, nextAttemptAt } from "./budgets.ts";
import { move } from "./move.ts";
import type { Shop } from "./shop.ts";

/** Records for good how an attempt ended, and moves the run on. */
export const endAttempt = (
  shop: Shop,
  lease: Lease,
  run: Run,
  end: {
    readonly attempt: Attempt;
    readonly observation: Observation;
    readonly ending: Ending;
    readonly proof: string;
  },
): Run => {
  const { attempt, observation, ending, proof } = end;
  const ended = shop.store.endAttempt(lease, attempt.number, {
    reason: ending.name,
    exitCode: ending.exitCode,
    evidence: { observation, proof, detail: ending.detail },
  });
  return afterEnd(shop, lease, run, ended);
};

const Kept = z.object({ detail: z.string(), proof: z.string() });

/**
 * What an ended attempt makes of its run, from what was recorded alone: a controller killed between the two writes leaves
 * an ended attempt of a run that still counts as running, and the next one comes here.
 */
export const afterEnd = (shop: Shop, lease: Lease, run: Run, attempt: Attempt): Run => {
  const { status, sentence } = endReason(attempt.reason ?? "unknown");
  const kept = Kept.safeParse(attempt.evidence);
  const { detail, proof } = kept.success ? kept.data : { detail: sentence, proof: "" };
  const words =
    attempt.reason === "no_proof" ? `${detail}: ${proof}` : withFailure(shop, run, attempt, detail);
  const declined = declinedFar(shop, run, attempt);
  if (declined && !run.stopRequested) {
    return move(shop, lease, run, { to: "timed_out", reason: `${declined}; ${words}` });
  }
  const far = continuationOf(attempt);
  if (far && status !== "succeeded") return goesOnFar(shop, lease, run, { attempt, far, words });
  const given = givenUp(shop, run);
  if (given && status !== "succeeded")
    return move(shop, lease, run, { to: given.status, reason: given.reason });
  if (mayGoOn(shop, run, attempt)) return goesOn(shop, lease, run, { attempt, detail });
  return move(shop, lease, run, { to: status, reason: words });
};

/** By the reason table, the budgets and what a person asked for. */
function mayGoOn(shop: Shop, run: Run, { reason }: Attempt): boolean {
  const { retry, budget } = endReason(reason ?? "unknown");
  const isWanted = retry !== "none" && !run.stopRequested;
  return isWanted && hasBudget(attemptsSinceResume(shop, run), budget, shop.clock.now());
}

function goesOn(
  shop: Shop,
  lease: Lease,
  run: Run,
  { attempt, detail }: { readonly attempt: Attempt; readonly detail: string },
): Run {
  const next = nextAttemptAt(attemptsSinceResume(shop, run));
  const when = next === null ? "" : ` at ${new Date(next).toISOString()}`;
  const reason = `${detail}; it goes on in another attempt${when}`;
  const isForCapacity = endReason(attempt.reason ?? "").budget === "capacity";
  return move(shop, lease, run, { to: isForCapacity ? "waiting" : "recovering", reason });
}

/** The far side has begun the next attempt, or will: it is taken over, and ended where it should not go on. */
function goesOnFar(
  shop: Shop,
  lease: Lease,
  run: Run,
  next: { readonly attempt: Attempt; readonly far: Continuation; readonly words: string },
): Run {
  const { attempt, far, words } = next;
  const { status } = endReason(attempt.reason ?? "unknown");
  const number = attempt.number + 1;
  requireOurs(far, markerOf(run.id, number));
  // An end that is not understood ends nothing while the work goes on before our eyes. And what there is to go on from is
  // known best where it lies: the far side counts what no event has told.
  const isTheirs = attempt.reason === "walltime_no_progress" && !run.stopRequested;
  const goes = status === "lost" || isTheirs || mayGoOn(shop, run, attempt);
  if (!goes && !run.stopRequested && givenUp(shop, run) === undefined) {
    shop.store.appendEvent(lease, {
      type: GIVEN_UP,
      attempt: attempt.number,
      data: { afterAttempt: attempt.number, status, reason: words },
    });
  }
  if (shop.store.attempts(run.id).at(-1)?.number === attempt.number) {
    shop.store.addAttempt(lease, { token: far.token, refs: far.refs });
  }
  if (run.state === "cancelling") return run;
  const what = goes ? `it goes on by itself as attempt ${number}` : `attempt ${number} of it is being ended`;
  return move(shop, lease, run, { to: "recovering", reason: `${words}; ${what}` });
}

// The attempt that was to follow a time limit was never begun: the far side found nothing newer to go on from either. Its
// words for the end before it; undefined where that is not so.
function declinedFar(shop: Shop, run: Run, { number, reason }: Attempt): string | undefined {
  if (reason !== "not_started") return undefined;
  const before = shop.store.attempts(run.id).find((attempt) => attempt.number === number - 1);
  if (before?.reason !== "walltime_no_progress" || continuationOf(before) === undefined) return undefined;
  return endReason(before.reason).sentence;
}

function requireOurs({ refs }: Continuation, marker: string): void {
  if (refs.length > 0 && refs.every((ref) => ref.marker === marker)) return;
  const names = refs.map((ref) => ref.marker).join(", ");
  throw new InternalError(
    "CONTINUATION_FOREIGN",
    `The next attempt should be ${marker}, but its launcher names ${names === "" ? "no job" : names}`,
  );
}

const Continued = z.object({
  observation: z.object({ continues: z.object({ refs: z.array(JobRef), token: z.string() }) }),
});

/** What the far side goes on with after an attempt, as it was seen when that one ended. */
export const continuationOf = ({ evidence }: Pick<Attempt, "evidence">): Continuation | undefined =>
  Continued.safeParse(evidence).data?.observation.continues;

/** Event of an end by rule while the far side went on by itself: it is ended, and the run is what the event says. */
const GIVEN_UP = "run.given_up";

const GivenUp = z.object({
  afterAttempt: z.int(),
  status: z.enum(["failed", "cancelled", "timed_out"]),
  reason: z.string(),
});

/** What the run is going to be once its jobs have ended; undefined while it may go on. */
export const givenUp = (shop: Shop, run: Run): z.infer<typeof GivenUp> | undefined => {
  const latest = GivenUp.safeParse(shop.store.events(run.id, { types: [GIVEN_UP] }).at(-1)?.data);
  return latest.success && latest.data.afterAttempt > resumedAfter(shop, run) ? latest.data : undefined;
};

/** Event of a resume by hand: a person has looked, and the budgets begin anew. */
export const RESUMED = "run.resumed";

const Resumed = z.object({ afterAttempt: z.int() });

function resumedAfter(shop: Shop, run: Pick<Run, "id">): number {
  const latest = Resumed.safeParse(shop.store.events(run.id, { types: [RESUMED] }).at(-1)?.data);
  return latest.success ? latest.data.afterAttempt : 0;
}

/** The attempts that budgets are counted from. */
export const attemptsSinceResume = (
  shop: Shop,
  run: Pick<Run, "id">,
  attempts: readonly Attempt[] = shop.store.attempts(run.id),
): readonly Attempt[] => {
  const after = resumedAfter(shop, run);
  return attempts.filter(({ number }) => number > after);
};

// The payload's own sentence says more than an exit code.
function withFailure(shop: Shop, run: Run, attempt: Attempt, detail: string): string {
  const failed = shop.store.events(run.id, { attempt: attempt.number, types: ["failed"] }).at(-1)?.data;
  if (typeof failed !== "object" || failed === null || !("message" in failed)) return detail;
  return `${detail}: ${String(failed.message)}`;
}
