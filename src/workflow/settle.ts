import { z } from "zod";
import { messageOf, UserError } from "../core/errors.ts";
import { TERMINAL_STATES, type Lease, type Run } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import { withLease } from "./lease.ts";
import { move } from "./move.ts";
import { goneHint } from "./outlook.ts";
import { checkProof } from "./proof.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, openAttempt, refsOf } from "./submit.ts";
import { tellChildren } from "./tell-children.ts";
import { observeAttempt } from "./watch-attempt.ts";

export interface Settlement {
  readonly runId: string;
  readonly as: "failed" | "cancelled" | "lost" | "succeeded";
  /** Why the person decides so; kept with the run. */
  readonly because: string;
}

/** Event of what a person decided. */
const SETTLED = "run.settled";

const Decision = z.object({ as: z.string(), because: z.string() });

/** What people have decided about a run, oldest first; it outlives a resume. */
export const settlementsOf = (
  { store }: Pick<Shop, "store">,
  runId: string,
): readonly { readonly at: string; readonly as: string; readonly because: string }[] =>
  store.events(runId, { types: [SETTLED] }).flatMap(({ at, data }) => {
    const decision = Decision.safeParse(data);
    return decision.success ? [{ at, ...decision.data }] : [];
  });

/**
 * A person decides what has become of a run that no evidence decides: one that is lost or ambiguous, or one whose stop was
 * asked for and whose machine does not answer, which is tried once more. UserErrors: `RUN_DECIDED` when evidence has decided
 * or still may, `REASON_MISSING`, `PROOF_MISSING` when it is to have succeeded but its proof does not hold or cannot be
 * looked at, `RUN_HELD`. Runs that wait for it go on when it has succeeded, and say what it has become when it has not.
 */
export const settleRun = async (shop: Shop, settlement: Settlement): Promise<Run> => {
  const { runId, as, because } = settlement;
  if (because.trim() === "") {
    throw new UserError("REASON_MISSING", "A decision needs its reason", {
      hint: 'say what you saw: --because "the node was reinstalled"',
    });
  }
  const unseen = await unseenNow(shop, shop.store.getRun(runId));
  const run = shop.store.getRun(runId);
  requireOpen(run, unseen);
  if (as === "succeeded") await requireProof(shop, run);
  const held = await withLease(shop, runId, async (lease) => decide(shop, lease, settlement, unseen));
  if (held.outcome === "done") {
    await tellChildren(shop, runId);
    return held.result;
  }
  throw new UserError("RUN_HELD", `Run ${runId} is being worked on by ${held.owner}`, {
    hint: "try again in a minute",
  });
};

/** Why a run that is to stop cannot be looked at, or told to; undefined where it can, or nobody wants it to stop. */
async function unseenNow(shop: Shop, run: Run): Promise<string | undefined> {
  if (!run.stopRequested || TERMINAL_STATES.includes(run.state)) return undefined;
  let problem: string | undefined;
  try {
    // Where its machine answers after all, this ends it, and there is nothing to decide.
    const { unavailable } = await advanceRun(shop, run.id);
    if (unavailable !== null) return unavailable;
  } catch (error) {
    shop.signal.throwIfAborted();
    problem = messageOf(error);
  }
  const attempt = openAttempt(shop, run);
  if (attempt === undefined) return undefined;
  if (refsOf(attempt).length === 0) return problem;
  // Another controller may have it, or it was seen and would not stop.
  const observation = await observeAttempt(shop, run, attempt);
  return observation.phase === "unavailable" ? observation.detail : undefined;
}

function requireOpen({ id, state, reason }: Run, unseen: string | undefined): void {
  if (state === "lost" || state === "ambiguous") return;
  if (unseen !== undefined && !TERMINAL_STATES.includes(state)) return;
  throw new UserError(
    "RUN_DECIDED",
    `Run ${id} is ${state}${reason === state ? "" : ` (${reason})`}: there is nothing for a person to decide`,
    {
      hint: TERMINAL_STATES.includes(state)
        ? `see it: understudy run show ${id}`
        : "only runs that are lost or ambiguous can be settled, and those whose machine does not answer after a stop: " +
          `understudy run stop ${id}`,
    },
  );
}

async function requireProof(shop: Shop, run: Run): Promise<void> {
  const detail = await missingProof(shop, run);
  if (detail === undefined) return;
  throw new UserError("PROOF_MISSING", `Run ${run.id} has not succeeded: ${detail}`, {
    hint: withoutProof(run),
  });
}

// Only one that has ended can be resumed.
function withoutProof(run: Run): string {
  const { id, state } = run;
  if (TERMINAL_STATES.includes(state)) {
    return `go on with it: understudy run resume ${id}; or settle it as failed`;
  }
  return `it is settled by itself once its machine answers: understudy run watch ${id}; ${goneHint(run)}`;
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

function decide(
  shop: Shop,
  lease: Lease,
  { runId, as, because }: Settlement,
  unseen: string | undefined,
): Run {
  // Somebody may have found evidence meanwhile.
  const run = shop.store.getRun(runId);
  requireOpen(run, unseen);
  const attempt = openAttempt(shop, run);
  if (attempt) {
    const evidence = { detail: `settled by hand as ${as}: ${because}`, proof: "", notes: attempt.evidence };
    // The proof is there, but nobody has seen this end: the table has one success, and that is seen.
    const reason = as === "succeeded" ? "unknown" : `settled_${as}`;
    shop.store.endAttempt(lease, attempt.number, { reason, exitCode: null, evidence });
  }
  const sight = unseen === undefined ? {} : { unseen };
  shop.store.appendEvent(lease, { type: SETTLED, data: { from: run.state, as, because, ...sight } });
  return move(shop, lease, run, { to: as, reason: `settled by hand: ${because}` });
}
