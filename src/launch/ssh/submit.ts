import { dirname } from "node:path";
import { messageOf, systemCode, UnderstudyError, UserError } from "../../core/errors.ts";
import type { Plan, Submission } from "../schema.ts";
import { askHost, problemOf, type HostScripts, type Reply } from "./ask-host.ts";
import { chooseHosts, unreachable } from "./choose.ts";
import type { Host, Hosts } from "./hosts.ts";
import { eventsFrom, holdsJob, lookAt, refOn, type Look } from "./look.ts";
import { excludedOf } from "./plan.ts";
import { reserve, type Reservation } from "./reservation.ts";
import { carryEvents, sendFiles, sendInputs, type SendContext } from "./send.ts";

export interface SubmitContext extends SendContext {
  readonly hosts: Hosts;
  readonly scripts: HostScripts;
  readonly gpus: number;
}

// From the start to the claim: setup lines of the profile run in between.
const CLAIM_SECONDS = 60;
const CLAIM_DEADLINE = 90_000;

/** Why a host did not get the job; nothing was started there. */
interface Refusal {
  readonly reason: string;
  readonly hint?: string | undefined;
  readonly retry?: "no_capacity" | "unreachable" | undefined;
}
type Attempted = { readonly answer: Submission } | { readonly refusal: Refusal };

/**
 * Gives the attempt to the first host of the list whose GPUs can be locked, and waits until the wrapper there has claimed the
 * marker. Nothing was started when the answer is `rejected`. `ambiguous`: `find` settles it. Rejects with the reason of the
 * world's signal when that aborts before the start: nothing was started, and the same plan can be sent again.
 */
export const submitSsh = async (plan: Plan, context: SubmitContext): Promise<Submission> => {
  const { hosts, scripts } = context;
  const outcomes = await Promise.all(
    hosts.all.map(async (host) => lookAt(host, plan, { scripts, mode: "look" })),
  );
  const choice = chooseHosts(outcomes, plan.attempt.number, excludedOf(plan));
  if (choice.kind === "answer") return choice.answer;
  const refusals: Refusal[] = outcomes.flatMap((outcome) =>
    outcome.kind === "problem" ? [refusalOf(unreachable([outcome]))] : [],
  );
  for (const look of choice.looks) {
    const attempted = await tryHost(
      look,
      outcomes.filter((outcome) => outcome.kind === "look"),
      plan,
      context,
    );
    if ("answer" in attempted) return attempted.answer;
    refusals.unshift(attempted.refusal);
  }
  return rejected(refusals, choice.bound);
};

async function tryHost(
  look: Look,
  looks: readonly Look[],
  plan: Plan,
  context: SubmitContext,
): Promise<Attempted> {
  const { profile, scripts, gpus, world } = context;
  const outcome = await reserve(look.host, plan, { profile, scripts, gpus, clock: world.clock });
  if (outcome.kind === "problem") return { refusal: refusalOf(unreachable([outcome])) };
  if (outcome.kind === "busy") return { refusal: { reason: outcome.reason, retry: "no_capacity" } };
  if (outcome.kind === "unfit") return { refusal: { reason: outcome.reason } };
  if (outcome.kind === "taken") return { answer: taken(look.host) };
  const { reservation } = outcome;
  try {
    await sendInputs(reservation, plan, context);
    const obstacle = await lastLook(reservation, looks, plan, context);
    if (obstacle) {
      await reservation.release();
      return { answer: obstacle };
    }
    await bringEvents(look, looks, plan);
    await sendFiles(reservation, plan, context);
    world.signal?.throwIfAborted();
  } catch (error) {
    await reservation.release();
    // What a stopped step says of its end is nobody's fault, here or there.
    world.signal?.throwIfAborted();
    return refused(error);
  } finally {
    reservation.stop();
  }
  return start(reservation, plan, context);
}

// Sending may have taken an hour. Whoever reserves looks at the others afterwards, so of two submissions at least one sees
// the other.
async function lastLook(
  reservation: Reservation,
  looks: readonly Look[],
  plan: Plan,
  { scripts }: SubmitContext,
): Promise<Submission | undefined> {
  const again = await Promise.all(
    looks.map(async ({ host }) => lookAt(host, plan, { scripts, mode: "look" })),
  );
  const seen = again.filter((outcome) => outcome.kind === "look");
  const other = seen.find((one) => holdsJob(one) || (one.lease && one.host.name !== reservation.host.name));
  if (other) return taken(other.host);
  const newest = Math.max(0, ...seen.map((one) => one.newest));
  return newest > plan.attempt.number
    ? { outcome: "rejected", reason: `attempt ${newest} has taken over this run` }
    : undefined;
}

async function bringEvents(to: Look, looks: readonly Look[], plan: Plan): Promise<void> {
  const from = eventsFrom(to, looks);
  if (from) await carryEvents(await from.host.transport(), await to.host.transport(), plan);
}

async function start(
  { host, nonce, release }: Reservation,
  plan: Plan,
  { scripts }: SubmitContext,
): Promise<Attempted> {
  const { marker, token } = plan.attempt;
  const run = dirname(dirname(plan.cwd));
  const words = [plan.cwd, run, `${marker}.${token}`, nonce, String(CLAIM_SECONDS), "--", ...plan.argv];
  const reply = await askHost(host, { script: scripts.start, args: words, deadline: CLAIM_DEADLINE });
  if (reply.kind === "problem") {
    if (reply.started === "unknown") return { answer: { outcome: "ambiguous", reason: reply.reason } };
    await release();
    return { refusal: refusalOf(unreachable([reply])) };
  }
  return startOutcome(reply, host, plan);
}

function startOutcome({ lines }: Extract<Reply, { kind: "lines" }>, host: Host, plan: Plan): Attempted {
  const { word = "", rest = "" } = lines[0] ?? {};
  switch (word) {
    case "accepted":
      return { answer: { outcome: "accepted", refs: [refOn(plan, host)] } };
    case "busy":
      return { refusal: { reason: `${host.name}: ${rest}`, retry: "no_capacity" } };
    // A module that is missing, a home that is not mounted: the next host may have them.
    case "failed":
      return { refusal: { reason: `the wrapper did not start on ${host.name}: ${rest}` } };
    case "taken":
      return { answer: taken(host) };
    default:
      return { answer: { outcome: "ambiguous", reason: `${host.name}: ${word} ${rest}`.trim() } };
  }
}

const taken = (host: Host): Submission => ({
  outcome: "ambiguous",
  reason: `another submission has the marker on ${host.name}`,
});

// Somebody has to mend these, on that machine; another one of the list may be sound.
const OF_ONE_HOST = new Set(["PYTHON_TOO_OLD", "PYTHON_MISSING", "PYTHON_WITHOUT_VENV", "WHEELHOUSE_UNFIT"]);

function refused(error: unknown): Attempted {
  // A stream that broke while it was read out of this machine: the connection did.
  if (systemCode(error)?.startsWith("ERR_STREAM") === true) {
    return { refusal: refusalOf(unreachable([{ ...problemOf(error), code: "CONNECTION_LOST" }])) };
  }
  if (error instanceof UserError && OF_ONE_HOST.has(error.code)) {
    return { refusal: { reason: error.message, hint: error.hint } };
  }
  // What is wrong here is wrong for every host.
  if (error instanceof UserError || !(error instanceof UnderstudyError)) {
    const hint = error instanceof UserError && error.hint !== undefined ? { hint: error.hint } : {};
    return { answer: { outcome: "rejected", reason: messageOf(error), ...hint } };
  }
  if (error.code.startsWith("TRANSPORT_")) return { refusal: refusalOf(unreachable([problemOf(error)])) };
  return { refusal: { reason: error.message, hint: error.hint } };
}

function refusalOf(submission: Submission): Refusal {
  return submission.outcome === "rejected" ? submission : { reason: "" };
}

function rejected(refusals: readonly Refusal[], bound: string | null): Submission {
  const reasons = [...new Set(refusals.map(({ reason }) => reason))].join("; ");
  const hint = refusals.find((refusal) => refusal.hint !== undefined)?.hint;
  const retries = refusals.map(({ retry }) => retry);
  const retry = retries.includes("no_capacity")
    ? ("no_capacity" as const)
    : retries.find((one) => one !== undefined);
  return {
    outcome: "rejected",
    reason: bound === null ? reasons : `the checkpoints of this run lie on ${bound}: ${reasons}`,
    ...(hint === undefined ? {} : { hint }),
    ...(retry === undefined ? {} : { retry }),
  };
}
