import type { Desk } from "./desk.ts";
import { unavailableText } from "./faults.ts";

/** The account that a role belongs to, and so its jobs; undefined when it is not the ARN of a role. */
export const accountOf = (role: string): string | undefined =>
  /^arn:aws[a-z-]*:iam::(\d{12}):role\/.+/.exec(role)?.[1];

/** Who the credentials at hand are. Errors are the provider's. */
export const caller = async ({
  aws,
}: Pick<Desk, "aws">): Promise<{ readonly arn: string; readonly account: string }> => {
  const { GetCallerIdentityCommand } = await import("@aws-sdk/client-sts");
  const client = await aws.sts();
  const { Arn: arn = "", Account: account = "" } = await client.send(new GetCallerIdentityCommand({}));
  return { arn, account };
};

/**
 * Why "there is no such job" would prove nothing: the service answers it about another account's jobs, and about another
 * region's. Undefined where whoever asks can see the jobs of this profile.
 */
export const blindness = async (
  desk: Pick<Desk, "aws" | "profile">,
  region = desk.profile.region,
): Promise<string | undefined> => {
  const { profile } = desk;
  if (region !== profile.region)
    return `the job is in ${region}, and the profile asks in ${profile.region}: nothing is known of it there`;
  const account = accountOf(profile.role);
  if (account === undefined)
    return `${profile.role} is not the ARN of a role: which account its jobs are of cannot be told`;
  try {
    const found = await caller(desk);
    if (found.account === account) return undefined;
    return `the credentials are of account ${found.account}, the job is of account ${account}: they cannot see it; set AWS_PROFILE, or AWS_… variables, of that account`;
  } catch (error) {
    return `no such job is seen, but whose jobs these credentials see could not be asked: ${unavailableText(error)}`;
  }
};
