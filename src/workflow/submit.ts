import { z } from "zod";
import { JobRef, openLauncher, type Launcher, type Plan } from "../launch/index.ts";
import type { Attempt, Lease, Run } from "../track/index.ts";
import { move } from "./move.ts";
import { jobOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

const Refs = z.array(JobRef);

/** The jobs an attempt was accepted as; empty while that is not known. */
export const refsOf = (attempt: Attempt): readonly JobRef[] => {
  const parsed = Refs.safeParse(attempt.refs);
  return parsed.success ? parsed.data : [];
};

/** The attempt that has not ended, if there is one. */
export const openAttempt = (shop: Shop, run: Run): Attempt | undefined =>
  shop.store.attempts(run.id).find((attempt) => attempt.endedAt === null);

/** The launcher of a run. */
export const launcherOf = async (shop: Shop, run: Run): Promise<Launcher> => {
  const job = jobOf(run);
  return openLauncher(job.profile, {
    clock: shop.clock,
    environment: shop.environment,
    payload: job.payload,
  });
};

/**
 * Brings a run from intent to a job that exists. Killed at any point, the same call goes on: an attempt whose answer
 * was lost is looked for by its marker first, and only when nobody holds that marker is the same plan sent.
 */
export const ensureSubmitted = async (shop: Shop, lease: Lease, run: Run): Promise<Run> => {
  const launcher = await launcherOf(shop, run);
  const present = openAttempt(shop, run);
  let current = run.state === "draft" ? move(shop, lease, run, { to: "packaged", reason: "planned" }) : run;
  if (current.state !== "submitting" && current.state !== "ambiguous") {
    current = move(shop, lease, current, { to: "submitting", reason: "being submitted" });
  }
  const attempt = present ?? shop.store.addAttempt(lease);
  const plan = launcher.plan(jobOf(run), attempt);
  if (refsOf(attempt).length > 0) return accepted(shop, lease, current, refsOf(attempt));
  if (present) {
    const found = await launcher.find(plan);
    if (found.outcome === "unavailable") {
      return move(shop, lease, current, {
        to: "ambiguous",
        reason: `it is not known whether the job exists: ${found.reason}`,
      });
    }
    if (found.outcome === "none" && run.stopRequested) {
      shop.store.endAttempt(lease, attempt.number, { reason: "cancelled", exitCode: null, evidence: found });
      return move(shop, lease, current, { to: "cancelled", reason: "stopped before it was started" });
    }
    if (found.outcome === "found") {
      shop.store.updateAttempt(lease, attempt.number, { refs: found.refs });
      return accepted(shop, lease, current, found.refs);
    }
  }
  return send(shop, lease, current, { launcher, plan, number: attempt.number });
};

async function send(
  shop: Shop,
  lease: Lease,
  run: Run,
  { launcher, plan, number }: { readonly launcher: Launcher; readonly plan: Plan; readonly number: number },
): Promise<Run> {
  const answer = await launcher.submit(plan);
  if (answer.outcome === "ambiguous") {
    return move(shop, lease, run, { to: "ambiguous", reason: answer.reason });
  }
  if (answer.outcome === "rejected") {
    shop.store.endAttempt(lease, number, { reason: "rejected", exitCode: null, evidence: answer });
    return move(shop, lease, run, { to: "failed", reason: `the job was not accepted: ${answer.reason}` });
  }
  shop.store.updateAttempt(lease, number, { refs: answer.refs });
  return accepted(shop, lease, run, answer.refs);
}

function accepted(shop: Shop, lease: Lease, run: Run, refs: readonly JobRef[]): Run {
  return move(shop, lease, run, {
    to: "starting",
    reason: `accepted as ${refs.map(({ marker }) => marker).join(", ")}`,
  });
}
