import { messageOf, RemoteError, UnderstudyError } from "../../core/errors.ts";
import { prepareEnvironment } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import type { ProfileOf } from "../profile.ts";
import type { Plan, Submission } from "../schema.ts";
import { ensureUploads, isLasting } from "../transport/index.ts";
import { findJobs, type FindWorld } from "./find.ts";
import { dropSecrets, newSubmission, storeSecrets } from "./secrets.ts";
import { sendFiles } from "./send-files.ts";
import { linksOf } from "./sbatch.ts";
import { submitLinks } from "./submit-links.ts";
import { clearLink, SBATCH_SECONDS } from "./run-link.ts";
import { lookAtSubmission, type LookedAt, type SubmissionRecord } from "./submission.ts";

/** What submitting needs besides what finding needs. */
export interface SubmitWorld extends FindWorld {
  readonly profile: ProfileOf<"slurm">;
  readonly world: OpenWorld;
}

type Rejected = Extract<Submission, { outcome: "rejected" }>;
type Ambiguous = Extract<Submission, { outcome: "ambiguous" }>;

/**
 * Sends the plan: inputs, environment, files, secrets, then one sbatch for each link. A submission that was interrupted goes on
 * where it stopped: no link is ever submitted twice. `ambiguous`: one may be there already; `find` settles it. Rejects with the
 * reason of the world's signal when that aborts before the first sbatch: the same plan can be sent again.
 */
export const submitSlurm = async (plan: Plan, settings: SubmitWorld): Promise<Submission> => {
  const before = await obstacle(plan, settings);
  if ("outcome" in before) return before;
  // Some links are there already: they have their files, and the fence may be a later attempt's by now.
  if (before.isRest) return submitLinks(plan, before.links, settings);
  const submission = newSubmission(plan);
  try {
    await send(plan, submission, settings);
    settings.world.signal?.throwIfAborted();
  } catch (error) {
    await dropSecrets(plan, settings, submission);
    // What a stopped step says of its end is nobody's fault.
    settings.world.signal?.throwIfAborted();
    return refusalOf(error);
  }
  const answer = await submitLinks(plan, before.links, settings);
  if (answer.outcome === "rejected") await dropSecrets(plan, settings, submission);
  return answer;
};

/** What keeps this plan from being submitted, or the links that are to be. */
async function obstacle(plan: Plan, settings: SubmitWorld): Promise<Rejected | Ambiguous | ToSubmit> {
  const { transport, deadlineSeconds } = settings;
  const looked = await lookAtSubmission(transport, plan, deadlineSeconds);
  if (!looked.worked) return unreachable(looked);
  const { claims, links, differing } = looked.record;
  const overtaken = takenOver(plan, looked.record);
  if (overtaken !== undefined) return overtaken;
  const isFirst = claims.size === 0 && links.size === 0;
  const missing = isFirst ? all(plan) : await missingLinks(plan, settings);
  if ("outcome" in missing) return missing;
  if (differing[0] !== undefined) {
    return rejected(`${differing[0]} belongs to another plan for the same attempt`);
  }
  for (const link of isFirst ? [] : missing.links) {
    // A refusal was certain at once; an sbatch whose answer is lost had time to end.
    const minimumAge = links.get(link)?.code === null ? SBATCH_SECONDS : 0;
    if (!(await clearLink(transport, plan, link, minimumAge)))
      return ambiguous("somebody else is submitting it");
  }
  return missing;
}

/**
 * Writing the fence now would lock out an attempt that has begun under another submission, and its number would be given twice.
 * Whoever wants that must ask for the attempt after it.
 */
function takenOver({ attempt }: Plan, record: SubmissionRecord): Rejected | undefined {
  const { newest, begun, claims, links } = record;
  const given = Math.max(newest, ...begun);
  // A job of ours claims its link before a number.
  const isTaken = given > attempt.number || (begun.has(attempt.number) && claims.size === 0);
  if (!isTaken) return undefined;
  const answer = rejected(`attempt ${given} has taken over this run`);
  if (claims.size > 0 || links.size > 0) return answer;
  const hint = `resume it again: it is given the number after ${attempt.number}, and goes on from the newest checkpoint`;
  return { ...answer, hint, taken: given };
}

interface ToSubmit {
  readonly links: readonly number[];
  /** Other links of the plan are jobs already. */
  readonly isRest: boolean;
}

const all = (plan: Plan): ToSubmit => ({
  isRest: false,
  links: Array.from({ length: linksOf(plan) }, (_, index) => index + 1),
});

async function missingLinks(plan: Plan, settings: SubmitWorld): Promise<Ambiguous | ToSubmit> {
  const found = await findJobs(plan, settings);
  if (typeof found === "string") return ambiguous(found);
  if (found.doubt !== undefined) return ambiguous(found.doubt);
  return found.absent.length === 0
    ? ambiguous(`marker ${plan.attempt.marker} is already taken`)
    : { links: found.absent, isRest: found.ref !== undefined };
}

async function send(plan: Plan, submission: string, settings: SubmitWorld): Promise<void> {
  const { profile, world, transport } = settings;
  const { umask, group } = profile;
  const signal = world.signal ?? new AbortController().signal;
  if (plan.uploads.length > 0) {
    await ensureUploads(transport, plan.uploads, {
      umask,
      group,
      signal,
      onProgress: ({ bytes, total }) =>
        world.onProgress?.({ kind: "upload", text: "inputs", done: bytes, total }),
    });
  }
  if (plan.prepares !== null) {
    await prepareEnvironment(transport, plan.prepares, {
      umask,
      group,
      signal,
      world,
      setup: profile.setup,
      onLine: (text) => world.onProgress?.({ kind: "environment", text }),
    });
  }
  await storeSecrets(plan, submission, settings);
  // The fence comes last in a plan: from then on earlier attempts write nothing.
  await sendFiles(transport, plan.files);
}

const rejected = (reason: string): Rejected => ({ outcome: "rejected", reason });
const ambiguous = (reason: string): Ambiguous => ({ outcome: "ambiguous", reason });

// A machine that cannot be reached may be later, unless a person has to act first.
function unreachable(looked: Extract<LookedAt, { worked: false }>): Rejected {
  const { why, hint, isLasting: lasts = false } = looked;
  return {
    outcome: "rejected",
    reason: why,
    ...(hint === undefined ? {} : { hint }),
    ...(lasts ? {} : { retry: "unreachable" as const }),
  };
}

// Nothing has been submitted yet.
function refusalOf(error: unknown): Rejected {
  const known = error instanceof UnderstudyError ? error : undefined;
  const heals = known instanceof RemoteError && known.code.startsWith("TRANSPORT_") && !isLasting(known.code);
  return {
    outcome: "rejected",
    reason: messageOf(error),
    ...(known?.hint === undefined ? {} : { hint: known.hint }),
    ...(heals ? { retry: "unreachable" as const } : {}),
  };
}
