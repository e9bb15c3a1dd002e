import { unavailableText } from "./faults.ts";
import type { JobRow, JobStatus, TrainingJobs } from "./training-jobs.ts";

/** A description, null when there is no such job, or why it could not be asked. */
export type StatusAnswer = JobStatus | null | { readonly unavailable: string };

/** Descriptions by name of a job, kept between questions: what has ended is asked for once. */
export interface Statuses {
  of(
    jobs: readonly { readonly job: string; readonly submittedAt: number }[],
  ): Promise<ReadonlyMap<string, StatusAnswer>>;
}

// Up to this many a list would cost more than it saves.
const FEW = 2;
// The service's clock and ours.
const SLACK = 3_600_000;
const END_WORDS = new Set(["Completed", "Failed", "Stopped"]);

/** One list for any number of jobs, then a description where the list does not say enough. */
export const statuses = (jobs: TrainingJobs): Statuses => {
  const ended = new Map<string, JobStatus>();
  const describe = async (name: string): Promise<StatusAnswer> => {
    try {
      const status = await jobs.describe(name);
      if (status !== undefined && END_WORDS.has(status.primary)) ended.set(name, status);
      return status ?? null;
    } catch (error) {
      return { unavailable: unavailableText(error) };
    }
  };
  return {
    of: async (asked) => {
      const answers = new Map<string, StatusAnswer>();
      const open = asked.filter(({ job }) => !ended.has(job));
      const rows = open.length > FEW ? await listed(jobs, open) : new Map<string, JobRow>();
      for (const { job } of asked) {
        if (answers.has(job)) continue;
        const row = rows instanceof Map ? rows.get(job) : undefined;
        if (ended.has(job)) answers.set(job, ended.get(job) ?? null);
        else if ("unavailable" in rows) answers.set(job, rows);
        else answers.set(job, row !== undefined && isEnough(row) ? fromRow(row) : await describe(job));
      }
      return answers;
    },
  };
};

async function listed(
  jobs: TrainingJobs,
  open: readonly { readonly job: string; readonly submittedAt: number }[],
): Promise<Map<string, JobRow> | { readonly unavailable: string }> {
  const since = Math.min(...open.map(({ submittedAt }) => submittedAt)) - SLACK;
  try {
    const rows = await jobs.list(commonStart(open.map(({ job }) => job)), Math.max(0, since));
    return new Map(rows.map((row) => [row.name, row]));
  } catch (error) {
    return { unavailable: unavailableText(error) };
  }
}

// Why a job failed stands only in its description.
const isEnough = ({ primary, secondary }: JobRow): boolean => primary === "InProgress" && secondary !== "";

const fromRow = ({ name, primary, secondary, modifiedAt }: JobRow): JobStatus => ({
  name,
  arn: "",
  primary,
  secondary,
  failure: "",
  message: "",
  createdAt: 0,
  modifiedAt,
  ended: false,
});

function commonStart(names: readonly string[]): string {
  const [first = "", ...rest] = names;
  let length = first.length;
  for (const name of rest) while (!name.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}
