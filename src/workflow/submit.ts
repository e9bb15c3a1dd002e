import { z } from "zod";
import { JobRef, type Finding, type Launcher, type Plan, type Submission } from "../launch/index.ts";
import type { Attempt, Lease, Run } from "../track/index.ts";
import { CAPACITY_DAYS, nextTryAt } from "./budgets.ts";
import { move } from "./move.ts";
import { jobOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { excludedNodes } from "./watch-nodes.ts";
import { keepShortfall } from "./watch-shortfall.ts";
import { note, notesOf, type Notes } from "./watch-notes.ts";
import { paceOf } from "./watch-pace.ts";

const Refs = z.array(JobRef);

/** The jobs an attempt was accepted as; empty while that is not known. */
export const refsOf = (attempt: Pick<Attempt, "refs">): readonly JobRef[] => {
  const parsed = Refs.safeParse(attempt.refs);
  return parsed.success ? parsed.data : [];
};

/** The attempt that has not ended, if there is one. */
export const openAttempt = (shop: Shop, run: Pick<Run, "id">): Attempt | undefined =>
  shop.store.attempts(run.id).find((attempt) => attempt.endedAt === null);

/** The launcher of a run, shared with the other runs of its profile. */
export const launcherOf = async (shop: Shop, run: Run): Promise<Launcher> => shop.launchers.of(jobOf(run));

interface Sending {
  readonly launcher: Launcher;
  readonly plan: Plan;
  readonly attempt: Attempt;
}

/**
 * Brings a run from intent to a job that exists. Killed at any point, the same call goes on: an attempt whose answer
 * was lost is looked for by its marker first, and only when nobody holds that marker, for as long as the launcher's
 * records may lag, is the same plan sent. One that was certainly refused is sent again when its time has come.
 */
export const ensureSubmitted = async (shop: Shop, lease: Lease, run: Run): Promise<Run> => {
  const present = openAttempt(shop, run);
  const refused = present && certainRefusal(notesOf(present));
  if (present && refused && run.stopRequested) return withdrawn(shop, lease, run, present);
  if (refused && shop.clock.now() < refused.nextAt) return run;
  const launcher = await launcherOf(shop, run);
  const current = submitting(shop, lease, run);
  const attempt = present ?? shop.store.addAttempt(lease);
  const refs = refsOf(attempt);
  if (refs.length > 0) return accepted(shop, lease, current, { refs });
  const { number, marker, token } = attempt;
  const context = { number, marker, token, excludedNodes: excludedNodes(shop, run) };
  const sending = { launcher, plan: launcher.plan(jobOf(run), context), attempt };
  const settled = present && !refused ? await settle(shop, lease, current, sending) : undefined;
  return settled ?? send(shop, lease, submitting(shop, lease, shop.store.getRun(run.id), true), sending);
};

/** A refusal that nothing has been sent after. */
function certainRefusal({ refused }: Notes): Notes["refused"] {
  return refused?.sentAgain ? undefined : refused;
}

// An ambiguous one stays so until it is known that nobody has its marker.
function submitting(shop: Shop, lease: Lease, run: Run, known = false): Run {
  const planned = run.state === "draft" ? move(shop, lease, run, { to: "packaged", reason: "planned" }) : run;
  if (planned.state === "submitting" || (planned.state === "ambiguous" && !known)) return planned;
  return move(shop, lease, planned, { to: "submitting", reason: "being submitted" });
}

/** Looks for a job whose answer is not known; undefined when it is known that there is none. */
async function settle(shop: Shop, lease: Lease, run: Run, sending: Sending): Promise<Run | undefined> {
  const { launcher, plan, attempt } = sending;
  const found = await launcher.find(plan);
  if (found.outcome === "found") {
    const all = await completed(run, sending, found);
    if ("open" in all) {
      note(shop, lease, attempt, { unanswered: all.open });
      return move(shop, lease, run, { to: "ambiguous", reason: all.open });
    }
    const { refs, note: words } = all;
    keepShortfall(shop, lease, attempt, words);
    shop.store.updateAttempt(lease, attempt.number, { refs, evidence: null });
    return accepted(shop, lease, run, { refs, words });
  }
  if (found.outcome === "unavailable") {
    note(shop, lease, attempt, { unanswered: found.reason });
    return move(shop, lease, run, {
      to: "ambiguous",
      reason: `it is not known whether the job exists: ${found.reason}`,
    });
  }
  // A scheduler that has just taken the job may not list it yet.
  const now = shop.clock.now();
  const since = notesOf(attempt).unclaimedSince ?? now;
  const until = since + paceOf(jobOf(run).profile).lag;
  if (now < until) {
    note(shop, lease, attempt, { unclaimedSince: since, unanswered: undefined });
    const when = new Date(until).toISOString();
    const reason = `no trace of the job yet; if there is none by ${when} it was not accepted`;
    return move(shop, lease, run, { to: "ambiguous", reason });
  }
  return run.stopRequested ? withdrawn(shop, lease, run, attempt) : undefined;
}

/**
 * A chain of which only some links were submitted gets the rest; what is there already is kept whatever becomes of that.
 * `open` while there may be jobs that are not known: which they are is written once.
 */
async function completed(
  run: Run,
  { launcher, plan }: Sending,
  found: Extract<Finding, { outcome: "found" }>,
): Promise<
  { readonly refs: readonly JobRef[]; readonly note?: string | undefined } | { readonly open: string }
> {
  // What is known of can be stopped, and the stop holds for what is not.
  if (run.stopRequested) return { refs: found.refs };
  if (found.doubt !== undefined) {
    return { open: `its job was found, but there may be more of it: ${found.doubt}` };
  }
  if (!found.missingLinks) return { refs: found.refs };
  const answer = await launcher.submit(plan);
  if (answer.outcome === "accepted") return answer;
  if (answer.outcome === "ambiguous") {
    return { open: `it is not known whether the rest of its chain was accepted: ${answer.reason}` };
  }
  return {
    refs: found.refs,
    note: `the chain is shorter by ${found.missingLinks} than planned: ${answer.reason}`,
  };
}

function withdrawn(shop: Shop, lease: Lease, run: Run, attempt: Attempt): Run {
  const evidence = { detail: "stopped before it was started", notes: attempt.evidence };
  shop.store.endAttempt(lease, attempt.number, { reason: "cancelled", exitCode: null, evidence });
  return move(shop, lease, run, { to: "cancelled", reason: "stopped before it was started" });
}

async function send(shop: Shop, lease: Lease, run: Run, { launcher, plan, attempt }: Sending): Promise<Run> {
  const { refused } = notesOf(attempt);
  const sent = note(shop, lease, attempt, {
    unclaimedSince: undefined,
    unanswered: undefined,
    refused: refused && { ...refused, sentAgain: true },
  });
  const answer = await launcher.submit(plan);
  // Who interrupts this program does not give up the run, whatever a launcher makes of it.
  if (answer.outcome === "rejected") shop.signal.throwIfAborted();
  if (answer.outcome === "ambiguous") {
    note(shop, lease, sent, { unanswered: answer.reason });
    return move(shop, lease, run, { to: "ambiguous", reason: answer.reason });
  }
  if (answer.outcome === "rejected" && answer.taken !== undefined) {
    return passedOver(shop, lease, run, { attempt, answer });
  }
  if (answer.outcome === "rejected") return rejected(shop, lease, run, { attempt: sent, answer });
  keepShortfall(shop, lease, attempt, answer.note);
  shop.store.updateAttempt(lease, attempt.number, { refs: answer.refs, evidence: null });
  return accepted(shop, lease, run, { refs: answer.refs, words: answer.note });
}

/**
 * The far side has given out this number by itself while nobody watched, so the run goes on with the one after it. Killed
 * between the two, the same happens: a run that is being submitted and has no open attempt gets one.
 */
async function passedOver(shop: Shop, lease: Lease, run: Run, { attempt, answer }: Refusal): Promise<Run> {
  shop.store.endAttempt(lease, attempt.number, { reason: "fenced", exitCode: null, evidence: answer });
  return ensureSubmitted(shop, lease, run);
}

interface Refusal {
  readonly attempt: Attempt;
  readonly answer: Extract<Submission, { outcome: "rejected" }>;
}

function rejected(shop: Shop, lease: Lease, run: Run, { attempt, answer }: Refusal): Run {
  const why = answer.retry;
  if (why === undefined) {
    shop.store.endAttempt(lease, attempt.number, { reason: "rejected", exitCode: null, evidence: answer });
    const hint = answer.hint === undefined ? "" : ` (${answer.hint})`;
    const words = `the job was not accepted: ${answer.reason}${hint}`;
    return move(shop, lease, run, { to: "failed", reason: words });
  }
  const now = shop.clock.now();
  const before = notesOf(attempt).refused;
  const since = before?.since ?? now;
  if (now - since >= CAPACITY_DAYS * 86_400_000) {
    shop.store.endAttempt(lease, attempt.number, { reason: why, exitCode: null, evidence: answer });
    const words = `it was not accepted in ${CAPACITY_DAYS} days: ${answer.reason}`;
    return move(shop, lease, run, { to: "failed", reason: words });
  }
  const tries = (before?.tries ?? 0) + 1;
  const nextAt = nextTryAt(now, tries, attempt.marker);
  const { reason } = answer;
  note(shop, lease, attempt, { refused: { since, tries, nextAt, why, reason, sentAgain: false } });
  return move(shop, lease, run, {
    to: "waiting",
    reason: `${reason}; tried ${tries === 1 ? "once" : `${tries} times`} since ${new Date(since).toISOString()}, next try at ${new Date(nextAt).toISOString()}, by whoever watches`,
  });
}

function accepted(
  shop: Shop,
  lease: Lease,
  run: Run,
  { refs, words }: { readonly refs: readonly JobRef[]; readonly words?: string | undefined },
): Run {
  const names = refs.map(({ marker }) => marker).join(", ");
  return move(shop, lease, run, {
    to: "starting",
    reason: words === undefined ? `accepted as ${names}` : `accepted as ${names}; ${words}`,
  });
}
