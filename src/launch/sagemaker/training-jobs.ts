import type {
  CreateTrainingJobCommandInput,
  DescribeTrainingJobCommandOutput,
} from "@aws-sdk/client-sagemaker";
import type { Aws } from "./aws.ts";
import { faultOf, isAnswer } from "./faults.ts";
import type { Pace } from "./pace.ts";

/** What a description says of a job, in the provider's own words. Times are milliseconds since the epoch. */
export interface JobStatus {
  readonly name: string;
  readonly arn: string;
  readonly primary: string;
  readonly secondary: string;
  readonly failure: string;
  /** Of the newest transition, e.g. why a spot job was interrupted. */
  readonly message: string;
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly ended: boolean;
}

export interface JobRow {
  readonly name: string;
  readonly primary: string;
  readonly secondary: string;
  readonly modifiedAt: number;
}

/** The five calls that this launcher makes. All are paced; errors are the provider's, see `faultOf`. */
export interface TrainingJobs {
  create(request: Readonly<Record<string, unknown>>): Promise<void>;
  /** Undefined when there is no such job. */
  describe(name: string): Promise<JobStatus | undefined>;
  /** All jobs whose name contains a text, made after a time; as many pages as there are. */
  list(contains: string, since: number): Promise<readonly JobRow[]>;
  tags(arn: string): Promise<Readonly<Record<string, string>>>;
  stop(name: string): Promise<void>;
}

const MOST_PAGES = 50;

export const trainingJobs = (aws: Aws, pace: Pace): TrainingJobs => ({
  create: async (request) => {
    const { CreateTrainingJobCommand } = await import("@aws-sdk/client-sagemaker");
    const client = await aws.sagemaker();
    // Not paced again on throttling: submitting has its own way of asking twice.
    await client.send(new CreateTrainingJobCommand(asInput(request)));
  },
  describe: async (name) => {
    const { DescribeTrainingJobCommand } = await import("@aws-sdk/client-sagemaker");
    const client = await aws.sagemaker();
    try {
      const answer = await pace(async () =>
        client.send(new DescribeTrainingJobCommand({ TrainingJobName: name })),
      );
      return statusOf(name, answer);
    } catch (error) {
      if (faultOf(error) === "not-found" && isAnswer(error)) return undefined;
      throw error;
    }
  },
  list: async (contains, since) => {
    const { ListTrainingJobsCommand } = await import("@aws-sdk/client-sagemaker");
    const client = await aws.sagemaker();
    const rows: JobRow[] = [];
    let token: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const command = new ListTrainingJobsCommand({
        NameContains: contains,
        CreationTimeAfter: new Date(since),
        SortBy: "CreationTime",
        SortOrder: "Descending",
        MaxResults: 100,
        ...(token === undefined ? {} : { NextToken: token }),
      });
      const answer = await pace(async () => client.send(command));
      for (const row of answer.TrainingJobSummaries ?? []) {
        rows.push({
          name: row.TrainingJobName ?? "",
          primary: row.TrainingJobStatus ?? "",
          secondary: row.SecondaryStatus ?? "",
          modifiedAt: row.LastModifiedTime?.getTime() ?? 0,
        });
      }
      token = answer.NextToken;
      if (token === undefined) break;
    }
    return rows;
  },
  tags: async (arn) => {
    const { ListTagsCommand } = await import("@aws-sdk/client-sagemaker");
    const client = await aws.sagemaker();
    const answer = await pace(async () => client.send(new ListTagsCommand({ ResourceArn: arn })));
    return Object.fromEntries((answer.Tags ?? []).map((tag) => [tag.Key ?? "", tag.Value ?? ""]));
  },
  stop: async (name) => {
    const { StopTrainingJobCommand } = await import("@aws-sdk/client-sagemaker");
    const client = await aws.sagemaker();
    await pace(async () => client.send(new StopTrainingJobCommand({ TrainingJobName: name })));
  },
});

function statusOf(name: string, answer: DescribeTrainingJobCommandOutput): JobStatus {
  const time = (date: Date | undefined): number => date?.getTime() ?? 0;
  return {
    name,
    arn: text(answer.TrainingJobArn),
    primary: text(answer.TrainingJobStatus),
    secondary: text(answer.SecondaryStatus),
    failure: text(answer.FailureReason),
    message: text(answer.SecondaryStatusTransitions?.at(-1)?.StatusMessage),
    createdAt: time(answer.CreationTime),
    modifiedAt: time(answer.LastModifiedTime),
    ended: answer.TrainingEndTime !== undefined,
  };
}

const text = (value: string | undefined): string => value ?? "";

// `request.ts` builds it with the type of the provider; a plan that was kept as JSON has lost that type, not the shape.
function asInput(request: Readonly<Record<string, unknown>>): CreateTrainingJobCommandInput {
  const input: unknown = request;
  if (isInput(input)) return input;
  throw new TypeError("the request of this plan is not one for a training job");
}

const isInput = (value: unknown): value is CreateTrainingJobCommandInput =>
  typeof value === "object" &&
  value !== null &&
  [
    "TrainingJobName",
    "AlgorithmSpecification",
    "RoleArn",
    "OutputDataConfig",
    "ResourceConfig",
    "StoppingCondition",
  ].every((key) => key in value);
