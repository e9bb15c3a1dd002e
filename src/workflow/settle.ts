import { messageOf, UserError } from "../core/errors.ts";
import type { Lease, Run } from "../track/index.ts";
import { withLease } from "./lease.ts";
import { move } from "./move.ts";
import { checkProof } from "./proof.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, openAttempt, refsOf } from "./submit.ts";

export interface Settlement {
  readonly runId: string;
  readonly as: "failed" | "cancelled" | "succeeded";
  /** Why the person decides so; kept with the run. */
  readonly because: string;
}

/** Event of what a person decided. */
const SETTLED = "run.settled";

/**
 * A person decides what has become of a run that no evidence decides. UserErrors: `RUN_DECIDED` when evidence has decided,
 * `REASON_MISSING`, `PROOF_MISSING` when it is to have succeeded but its proof does not hold or cannot be looked at,
 * `RUN_HELD`.
 */
export const settleRun = async (shop: Shop, settlement: Settlement): Promise<Run> => {
  const { runId, as, because } = settlement;
  const run = shop.store.getRun(runId);
  requireOpen(run);
  if (because.trim() === "") {
    throw new UserError("REASON_MISSING", "A decision needs its reason", {
      hint: 'say what you saw: --because "the node was reinstalled"',
    });
  }
  if (as === "succeeded") await requireProof(shop, run);
  const held = await withLease(shop, runId, async (lease) => decide(shop, lease, settlement));
  if (held.outcome === "done") return held.result;
  throw new UserError("RUN_HELD", `Run ${runId} is being worked on by ${held.owner}`, {
    hint: "try again in a minute",
  });
};

function requireOpen({ id, state, reason }: Run): void {
  if (state === "lost" || state === "ambiguous") return;
  throw new UserError(
    "RUN_DECIDED",
    `Run ${id} is ${state}: ${reason}; there is nothing for a person to decide`,
    {
      hint: "only runs that are lost or ambiguous can be settled; understudy run stop ends one that goes on",
    },
  );
}

async function requireProof(shop: Shop, run: Run): Promise<void> {
  const detail = await missingProof(shop, run);
  if (detail === undefined) return;
  throw new UserError("PROOF_MISSING", `Run ${run.id} has not succeeded: ${detail}`, {
    hint: `go on with it: understudy run resume ${run.id}; or settle it as failed`,
  });
}

async function missingProof(shop: Shop, run: Run): Promise<string | undefined> {
  const [ref] = shop.store.attempts(run.id).flatMap(refsOf).toReversed();
  if (ref === undefined) return "no job of it is known, so nothing of it can be looked at";
  try {
    const files = (await launcherOf(shop, run)).artifacts(ref);
    const { holds, detail } = await checkProof(lockOf(run), { files, ref });
    return holds ? undefined : detail;
  } catch (error) {
    return `its files cannot be looked at: ${messageOf(error)}`;
  }
}

function decide(shop: Shop, lease: Lease, { runId, as, because }: Settlement): Run {
  // Somebody may have found evidence meanwhile.
  const run = shop.store.getRun(runId);
  requireOpen(run);
  const attempt = openAttempt(shop, run);
  if (attempt) {
    const evidence = { detail: `settled by hand as ${as}: ${because}`, proof: "", notes: attempt.evidence };
    shop.store.endAttempt(lease, attempt.number, { reason: "unknown", exitCode: null, evidence });
  }
  shop.store.appendEvent(lease, { type: SETTLED, data: { from: run.state, as, because } });
  return move(shop, lease, run, { to: as, reason: `settled by hand: ${because}` });
}
