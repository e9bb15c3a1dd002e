import { z } from "zod";
import { json, type Call, type Reply } from "./proxy.ts";

/** What the service says of a job. */
export interface Words {
  readonly status: string;
  readonly secondary: string;
  readonly failure?: string;
  readonly message?: string;
}

export interface ToldJob {
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly words: Words;
}

const LIVE = new Set(["InProgress", "Stopping"]);
export const isLive = ({ words }: ToldJob): boolean => LIVE.has(words.status);

const Named = z.looseObject({ TrainingJobName: z.string() });
export const nameIn = (call: Call): string => Named.parse(JSON.parse(call.body.toString())).TrainingJobName;

/** The server's description with our words in it: the server itself calls every job completed. */
export const description = (reply: Reply, job: ToldJob): Reply => {
  const { TrainingEndTime: _end, ...answer } = z.looseObject({}).parse(JSON.parse(reply.body.toString()));
  const { status, secondary, failure, message = "" } = job.words;
  return json({
    ...answer,
    TrainingJobStatus: status,
    SecondaryStatus: secondary,
    ...(failure === undefined ? {} : { FailureReason: failure }),
    SecondaryStatusTransitions: [
      { Status: secondary, StartTime: job.modifiedAt / 1000, StatusMessage: message },
    ],
    CreationTime: job.createdAt / 1000,
    LastModifiedTime: job.modifiedAt / 1000,
    ...(isLive(job) ? {} : { TrainingEndTime: job.modifiedAt / 1000 }),
  });
};

const Query = z.looseObject({
  NameContains: z.string().default(""),
  CreationTimeAfter: z.number().default(0),
  NextToken: z.coerce.number().default(0),
  MaxResults: z.number().max(100).default(10),
});

/** One page of a list, as the service makes it: the newest words of each job, and where the next page begins. */
export const listing = (call: Call, jobs: ReadonlyMap<string, ToldJob>): Reply => {
  const asked = Query.parse(JSON.parse(call.body.toString()));
  const found = [...jobs].filter(
    ([name, job]) => name.includes(asked.NameContains) && job.createdAt > asked.CreationTimeAfter * 1000,
  );
  const end = asked.NextToken + asked.MaxResults;
  const rows = found.slice(asked.NextToken, end).map(([name, job]) => ({
    TrainingJobName: name,
    TrainingJobArn: `arn:aws:sagemaker:us-east-1:123456789012:training-job/${name}`,
    CreationTime: job.createdAt / 1000,
    LastModifiedTime: job.modifiedAt / 1000,
    TrainingJobStatus: job.words.status,
    SecondaryStatus: job.words.secondary,
  }));
  return json({ TrainingJobSummaries: rows, ...(end < found.length ? { NextToken: String(end) } : {}) });
};
