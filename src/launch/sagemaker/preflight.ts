import { messageOf } from "../../core/errors.ts";
import type { Check, Job } from "../schema.ts";
import { accountOf, caller } from "./account.ts";
import { keyOf } from "./container-paths.ts";
import type { Desk } from "./desk.ts";
import { faultOf, faultText, statusOf } from "./faults.ts";
import { bucketKeys } from "./keys.ts";
import { askAll, askInTime, type Step } from "./probe.ts";
import { isThere } from "./upload.ts";

/** Questions to the provider without a job, for a person who waits for the answers; none of them costs anything. */
export const probeSageMaker = async (desk: Desk): Promise<readonly Check[]> =>
  askInTime(questions(desk), desk.clock);

function questions(desk: Desk): readonly Step[] {
  let identity = "";
  let hasBucket = true;
  return [
    {
      name: "credentials",
      needed: true,
      ask: async () => {
        const check = await identityCheck(desk);
        identity = check.detail;
        return check;
      },
    },
    { name: "role", ask: async () => roleCheck(desk, identity) },
    {
      name: "region",
      ask: async () => {
        const check = await regionCheck(desk);
        hasBucket = check.outcome === "ok";
        return check;
      },
    },
    // Of a bucket that is not there one word is enough.
    {
      name: "bucket",
      ask: async () =>
        hasBucket
          ? bucketCheck(desk)
          : { name: "bucket", outcome: "unknown", detail: "not written into, for that reason" },
    },
    { name: "sagemaker", ask: async () => serviceCheck(desk) },
    { name: "image", ask: async () => imageCheck(desk) },
    { name: "quota", ask: async () => quotaHint(desk) },
  ];
}

/** The same with all patience, and what this job needs to lie in the bucket already. */
export const preflightSageMaker = async (job: Job, desk: Desk): Promise<readonly Check[]> => {
  const checks = await askAll(questions(desk));
  if (checks.some(({ outcome }) => outcome === "failed")) return checks;
  return [...checks, await inputsCheck(job, desk), volumeCheck(job, desk)];
};

async function identityCheck(desk: Desk): Promise<Check> {
  const name = "credentials";
  try {
    const { arn, account } = await caller(desk);
    return { name, outcome: "ok", detail: `${arn} of account ${account}` };
  } catch (error) {
    return {
      name,
      outcome: "failed",
      detail: faultText(error),
      hint: ["credentials", "refused"].includes(faultOf(error))
        ? "sign in (aws sso login), or set AWS_PROFILE for this command"
        : "see whether the service can be reached from here: region: of the profile, a proxy, a VPN",
    };
  }
}

async function roleCheck({ profile }: Desk, identity: string): Promise<Check> {
  const name = "role";
  const account = accountOf(profile.role);
  if (account === undefined)
    return {
      name,
      outcome: "failed",
      detail: `${profile.role} is not the ARN of a role`,
      hint: "arn:aws:iam::ACCOUNT:role/NAME",
    };
  const own = /of account (\d{12})$/.exec(identity)?.[1];
  if (own !== undefined && own !== account)
    return {
      name,
      outcome: "failed",
      detail: `the role is of account ${account}, the credentials are of ${own}`,
      hint: "a job runs in the account that asks for it: take a role of that one",
    };
  return {
    name,
    outcome: "ok",
    detail: `${profile.role} (whether SageMaker may take it on is seen at the start)`,
  };
}

async function regionCheck({ aws, profile }: Desk): Promise<Check> {
  const name = "region";
  try {
    const { HeadBucketCommand } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    const { BucketRegion } = await client.send(new HeadBucketCommand({ Bucket: profile.bucket }));
    if (BucketRegion === undefined || BucketRegion === profile.region)
      return { name, outcome: "ok", detail: `${profile.bucket} is in ${profile.region}` };
    return {
      name,
      outcome: "failed",
      detail: `${profile.bucket} is in ${BucketRegion}, the job would run in ${profile.region}`,
      hint: "SageMaker takes buckets of its own region only",
    };
  } catch (error) {
    return { name, outcome: "failed", ...bucketWords(profile, error) };
  }
}

// The head of a bucket is refused without a word.
function bucketWords(
  { bucket, region }: Desk["profile"],
  error: unknown,
): { readonly detail: string; readonly hint: string } {
  const status = statusOf(error);
  if (status === 404)
    return {
      detail: `there is no bucket ${bucket}: it does not exist, or these credentials are of another partition of AWS`,
      hint: `correct bucket: in the profile, or make it: aws s3 mb s3://${bucket} --region ${region}`,
    };
  if (status === 301)
    return {
      detail: `the bucket ${bucket} is in another region than ${region}`,
      hint: "SageMaker takes buckets of its own region only: set region: to the bucket's, or take another bucket:",
    };
  if (status === 403)
    return {
      detail: `there is a bucket ${bucket}, and these credentials may not see it`,
      hint: "it may be somebody else's: names of buckets are unique in the world; else they need s3:ListBucket",
    };
  return {
    detail: `the bucket ${bucket} could not be asked for: ${faultText(error)}`,
    hint: "see whether S3 can be reached from here: region: of the profile, a proxy, a VPN",
  };
}

/** Writes, reads and deletes one small object, as a start would. */
async function bucketCheck({ bucket, clock, profile }: Desk): Promise<Check> {
  const name = "bucket";
  const key = bucketKeys(profile).probe(`probe-${clock.now()}-${Math.random().toString(36).slice(2, 10)}`);
  const steps: string[] = [];
  try {
    const text = `probe of ${clock.now()}\n`;
    await bucket.write(key, text);
    steps.push("written");
    if ((await bucket.readText(key)) !== text) throw new Error("it reads back as something else");
    steps.push("read");
    await bucket.remove(key);
    steps.push("deleted");
    return { name, outcome: "ok", detail: `s3://${bucket.name}/${key} was ${steps.join(", ")}` };
  } catch (error) {
    const done = steps.length === 0 ? "not even written" : `only ${steps.join(", ")}`;
    return {
      name,
      outcome: "failed",
      detail: `s3://${bucket.name}/${key} was ${done}: ${faultText(error)}`,
      hint: `these credentials need s3:PutObject, GetObject, ListBucket and DeleteObject below ${profile.prefix}/${profile.kmsKey === undefined ? "" : ", and the key's Encrypt and Decrypt"}`,
    };
  }
}

async function serviceCheck({ jobs }: Desk): Promise<Check> {
  const name = "sagemaker";
  try {
    await jobs.describe("understudy-probe-of-a-job-that-is-not");
    return { name, outcome: "ok", detail: "answers" };
  } catch (error) {
    return {
      name,
      outcome: "failed",
      detail: faultText(error),
      hint: "sagemaker:DescribeTrainingJob is needed",
    };
  }
}

function imageCheck({ profile }: Desk): Check {
  const name = "image";
  if (/@sha256:[0-9a-f]{64}$/.test(profile.image)) return { name, outcome: "ok", detail: profile.image };
  return {
    name,
    outcome: "failed",
    detail: `${profile.image} names no digest: tomorrow it may be another image`,
    hint: "append @sha256:… (aws ecr describe-images --query 'imageDetails[].imageDigest')",
  };
}

function quotaHint({ profile }: Desk): Check {
  const what = `${profile.instanceType} for ${profile.spot === undefined ? "" : "spot "}training job usage`;
  return {
    name: "quota",
    outcome: "unknown",
    detail: `${profile.instances} of "${what}" will be asked for`,
    hint: "the quota stands in Service Quotas; 0 is refused at the start, at no cost",
  };
}

async function inputsCheck(job: Job, { bucket, profile }: Desk): Promise<Check> {
  const name = "inputs";
  if (profile.input.from === "fsx")
    return {
      name,
      outcome: "unknown",
      detail: `what lies on ${profile.input.fileSystemId} is seen by the job only`,
    };
  const needed = job.inputs
    .filter(({ source, role }) => source === null && !(role === "payload" && profile.imageHasPayload))
    .map((input) => ({ ...input, path: keyOf(input.path, profile) }));
  try {
    const missing: string[] = [];
    for (const input of needed) if (!(await isThere(input, bucket))) missing.push(input.path);
    if (missing.length === 0)
      return {
        name,
        outcome: "ok",
        detail: `${needed.length} files that are not sent from here are in the bucket`,
      };
    return {
      name,
      outcome: "failed",
      detail: `${missing.length} of ${needed.length} files are not in s3://${bucket.name}, or are not what they should be: ${missing.slice(0, 3).join(", ")}`,
      hint: "pack or fetch them here: then they are sent with the start",
    };
  } catch (error) {
    return { name, outcome: "unknown", detail: messageOf(error) };
  }
}

function volumeCheck(job: Job, { profile }: Desk): Check {
  const name = "volume";
  const copied = profile.input.from === "s3" && profile.input.mode === "File";
  const inputs = copied ? job.inputs.reduce((sum, { bytes }) => sum + bytes, 0) : 0;
  const need = job.diskBytes + inputs;
  const have = profile.volumeGigabytes * 1024 ** 3;
  const detail = `${profile.volumeGigabytes} GiB, ${(need / 1024 ** 3).toFixed(1)} GiB needed (${Math.ceil(need)} bytes)`;
  return need <= have
    ? { name, outcome: "ok", detail }
    : { name, outcome: "failed", detail, hint: "raise volumeGigabytes, or keep fewer checkpoints" };
}
