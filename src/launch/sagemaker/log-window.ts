import type { RefOf } from "../schema.ts";
import { begunAttempt, nextAttempt, type AttemptBucket } from "./attempts.ts";
import { attemptOfKey } from "./keys.ts";
import { meaningOf } from "./states.ts";
import type { TrainingJobs } from "./training-jobs.ts";

/** Which lines of a job's log are an attempt's: of these streams those of [from, until), milliseconds since the epoch. */
export interface LogWindow {
  readonly names: readonly string[];
  readonly from: number;
  readonly until: number;
}

/**
 * A job that a spot restart has gone on with has the lines of several attempts. A container that has come after this attempt's
 * own may be the next attempt: its lines are left until that one has said when it began, or the job is over without it.
 */
export const windowOf = async (
  ref: RefOf<"sagemaker">,
  names: readonly string[],
  desk: { readonly bucket: AttemptBucket; readonly jobs: Pick<TrainingJobs, "describe"> },
): Promise<LogWindow> => {
  const isFirst = ref.job === ref.marker;
  const isRestarted = new Set(names.map((name) => partsOf(name).instance)).size < names.length;
  const own = isFirst && !isRestarted ? undefined : await begunAttempt(desk.bucket, ref.folder);
  const next = attemptOfKey(ref.folder).number > 0 ? await nextAttempt(desk.bucket, ref) : undefined;
  const from = isFirst || own === undefined ? 0 : Date.parse(own.startedAt);
  if (next !== undefined) return { names, from, until: Date.parse(next.begun.startedAt) };
  const until = Number.POSITIVE_INFINITY;
  if (!isRestarted || own === undefined) return { names, from, until };
  const later = laterThan(names, Date.parse(own.startedAt));
  if (later.size === 0 || (await isOver(ref.job, desk.jobs))) return { names, from, until };
  return { names: names.filter((name) => !later.has(name)), from, until };
};

async function isOver(job: string, jobs: Pick<TrainingJobs, "describe">): Promise<boolean> {
  const status = await jobs.describe(job);
  return status !== undefined && meaningOf(status).phase === "ended";
}

// Of each instance, the containers after the one that began last before this time.
function laterThan(names: readonly string[], startedAt: number): ReadonlySet<string> {
  const later = new Set<string>();
  for (const instance of new Set(names.map((name) => partsOf(name).instance))) {
    const streams = names
      .filter((name) => partsOf(name).instance === instance)
      .toSorted((a, b) => partsOf(a).began - partsOf(b).began);
    const own = streams.findLastIndex((name) => partsOf(name).began <= startedAt);
    for (const name of streams.slice(Math.max(0, own) + 1)) later.add(name);
  }
  return later;
}

// `JOB/algo-1-1589382911`: the instance, and when its container was started, in seconds or milliseconds.
function partsOf(name: string): { readonly instance: string; readonly began: number } {
  const [, instance = "", time = "0"] = /\/algo-(\d+)-(\d+)/.exec(name) ?? [];
  return { instance, began: time.length > 11 ? Number(time) : Number(time) * 1000 };
}
