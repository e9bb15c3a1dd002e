import { posix } from "node:path";
import { messageOf, UnderstudyError } from "../../core/errors.ts";
import { prepareEnvironment, secretFile } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import type { ProfileOf } from "../profile.ts";
import type { Plan, Submission } from "../schema.ts";
import { ensureUploads } from "../transport/index.ts";
import { execute } from "./command.ts";
import { findJobs, type FindWorld } from "./find.ts";
import { secretsFolder } from "./plan.ts";
import { sendFiles } from "./send-files.ts";
import { linksOf } from "./sbatch.ts";
import { submitLinks } from "./submit-links.ts";
import { clearLink, SBATCH_SECONDS } from "./run-link.ts";
import { lookAtSubmission } from "./submission.ts";

/** What submitting needs besides what finding needs. */
export interface SubmitWorld extends FindWorld {
  readonly profile: ProfileOf<"slurm">;
  readonly world: OpenWorld;
}

type Rejected = Extract<Submission, { outcome: "rejected" }>;
type Ambiguous = Extract<Submission, { outcome: "ambiguous" }>;

/**
 * Sends the plan: inputs, environment, files, secrets, then one sbatch for each link. A submission that was interrupted goes on
 * where it stopped: no link is ever submitted twice. `ambiguous`: one may be there already; `find` settles it.
 */
export const submitSlurm = async (plan: Plan, settings: SubmitWorld): Promise<Submission> => {
  const before = await obstacle(plan, settings);
  if ("outcome" in before) return before;
  // Some links are there already: they have their files, and the fence may be a later attempt's by now.
  if (before.isRest) return submitLinks(plan, before.links, settings);
  try {
    await send(plan, settings);
  } catch (error) {
    await dropSecrets(plan, settings);
    return refusalOf(error);
  }
  const answer = await submitLinks(plan, before.links, settings);
  if (answer.outcome === "rejected") await dropSecrets(plan, settings);
  return answer;
};

/** What keeps this plan from being submitted, or the links that are to be. */
async function obstacle(plan: Plan, settings: SubmitWorld): Promise<Rejected | Ambiguous | ToSubmit> {
  const { transport, deadlineSeconds } = settings;
  const looked = await lookAtSubmission(transport, plan, deadlineSeconds);
  if (!looked.worked) return unreachable(looked);
  const { newest, claims, links, differing } = looked.record;
  // Writing the fence now would lock out the attempt that has taken over.
  if (newest > plan.attempt.number) return rejected(`attempt ${newest} has taken over this run`);
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

async function send(plan: Plan, { profile, world, transport }: SubmitWorld): Promise<void> {
  const { umask, group } = profile;
  const { signal } = new AbortController();
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
  const secrets = secretsOf(plan, world);
  if (Object.keys(secrets).length > 0) await secretFile(transport, secretsFolder(plan), secrets);
  // The fence comes last in a plan: from then on earlier attempts write nothing.
  await sendFiles(transport, plan.files);
}

function secretsOf(plan: Plan, { secrets }: OpenWorld): Record<string, string> {
  return Object.fromEntries(
    Object.values(plan.environment).flatMap((entry): [string, string][] =>
      "secret" in entry ? [[entry.secret, secrets.read(entry.secret)]] : [],
    ),
  );
}

// Nobody is going to read them: they must not lie there.
async function dropSecrets(plan: Plan, { transport }: SubmitWorld): Promise<void> {
  if (Object.values(plan.environment).every((entry) => "value" in entry)) return;
  await execute(transport, ["rm", "-rf", "--", posix.normalize(secretsFolder(plan))], { deadline: 30_000 });
}

const rejected = (reason: string): Rejected => ({ outcome: "rejected", reason });
const ambiguous = (reason: string): Ambiguous => ({ outcome: "ambiguous", reason });

function unreachable({ why, hint }: { readonly why: string; readonly hint?: string }): Rejected {
  return {
    outcome: "rejected",
    reason: why,
    retry: "unreachable",
    ...(hint === undefined ? {} : { hint }),
  };
}

// Nothing has been submitted yet. A machine that cannot be reached may be later.
function refusalOf(error: unknown): Rejected {
  const known = error instanceof UnderstudyError ? error : undefined;
  const isTransport = known?.code.startsWith("TRANSPORT_") === true && !known.code.includes("HOST_KEY");
  return {
    outcome: "rejected",
    reason: messageOf(error),
    ...(known?.hint === undefined ? {} : { hint: known.hint }),
    ...(isTransport ? { retry: "unreachable" as const } : {}),
  };
}
