import type { Aws } from "./aws.ts";
import { faultOf } from "./faults.ts";
import type { Pace } from "./pace.ts";

const GROUP = "/aws/sagemaker/TrainingJobs";

export interface LogEvent {
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly message: string;
}

export interface LogPage {
  readonly events: readonly LogEvent[];
  /** Stands behind this page; the same as before when there is nothing further yet. */
  readonly next: string;
}

/** Where a page begins: at a time, or at a token that a reading from that time has given. */
export interface LogPosition {
  readonly from: number;
  readonly token: string | null;
}

/** The log of training jobs as the service keeps it: one stream for each container. */
export interface LogStreams {
  /** Names of a job's streams in the order of their names. */
  of(job: string): Promise<readonly string[]>;
  /** Null when the token is no longer good: they are kept for a day. */
  page(stream: string, position: LogPosition): Promise<LogPage | null>;
}

export const logStreams = (aws: Aws, pace: Pace): LogStreams => ({
  of: async (job) => {
    const { DescribeLogStreamsCommand } = await import("@aws-sdk/client-cloudwatch-logs");
    const client = await aws.logs();
    const names: string[] = [];
    let token: string | undefined;
    do {
      const command = new DescribeLogStreamsCommand({
        logGroupName: GROUP,
        logStreamNamePrefix: `${job}/`,
        ...(token === undefined ? {} : { nextToken: token }),
      });
      const answer = await missingAs(undefined, async () => pace(async () => client.send(command)));
      for (const { logStreamName } of answer?.logStreams ?? [])
        if (logStreamName !== undefined) names.push(logStreamName);
      token = answer?.nextToken;
    } while (token !== undefined);
    return names.toSorted();
  },
  page: async (stream, position) => {
    const { GetLogEventsCommand } = await import("@aws-sdk/client-cloudwatch-logs");
    const client = await aws.logs();
    const command = new GetLogEventsCommand({
      logGroupName: GROUP,
      logStreamName: stream,
      startFromHead: true,
      startTime: position.from,
      ...(position.token === null ? {} : { nextToken: position.token }),
    });
    try {
      const answer = await missingAs(undefined, async () => pace(async () => client.send(command)));
      const events = (answer?.events ?? []).map(({ timestamp = 0, message = "" }) => ({
        timestamp,
        message,
      }));
      return { events, next: answer?.nextForwardToken ?? position.token ?? "" };
    } catch (error) {
      if (position.token !== null && error instanceof Error && error.name === "InvalidParameterException")
        return null;
      throw error;
    }
  },
});

async function missingAs<Answer, Missing>(
  missing: Missing,
  call: () => Promise<Answer>,
): Promise<Answer | Missing> {
  try {
    return await call();
  } catch (error) {
    if (faultOf(error) === "not-found") return missing;
    throw error;
  }
}
