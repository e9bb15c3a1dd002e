import { z } from "zod";
import type { Observation } from "../launch/index.ts";
import { endReason, type Attempt, type Ending, type Lease, type Run } from "../track/index.ts";
import { hasBudget } from "./budgets.ts";
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
  const { status, retry, budget, sentence } = endReason(attempt.reason ?? "unknown");
  const kept = Kept.safeParse(attempt.evidence);
  const { detail, proof } = kept.success ? kept.data : { detail: sentence, proof: "" };
  if (retry !== "none" && !run.stopRequested && hasBudget(sinceResume(shop, run), budget)) {
    const when = retry === "wait" ? " in a minute" : "";
    return move(shop, lease, run, {
      to: "recovering",
      reason: `${detail}; it goes on in another attempt${when}`,
    });
  }
  const words =
    attempt.reason === "no_proof" ? `${detail}: ${proof}` : withFailure(shop, run, attempt, detail);
  return move(shop, lease, run, { to: status, reason: words });
};

/** Event of a resume by hand: a person has looked, and the budgets begin anew. */
export const RESUMED = "run.resumed";

const Resumed = z.object({ afterAttempt: z.int() });

function sinceResume(shop: Shop, run: Run): readonly Attempt[] {
  const latest = Resumed.safeParse(shop.store.events(run.id, { types: [RESUMED] }).at(-1)?.data);
  const after = latest.success ? latest.data.afterAttempt : 0;
  return shop.store.attempts(run.id).filter(({ number }) => number > after);
}

// The payload's own sentence says more than an exit code.
function withFailure(shop: Shop, run: Run, attempt: Attempt, detail: string): string {
  const failed = shop.store.events(run.id, { attempt: attempt.number, types: ["failed"] }).at(-1)?.data;
  if (typeof failed !== "object" || failed === null || !("message" in failed)) return detail;
  return `${detail}: ${String(failed.message)}`;
}
