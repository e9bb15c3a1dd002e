import type { Channel as InputChannel, CreateTrainingJobRequest } from "@aws-sdk/client-sagemaker";
import { digestOf, sha256 } from "../../core/hash.ts";
import type { AttemptContext, Job } from "../schema.ts";
import { CHECKPOINTS, keyOf, type Channel, type ContainerPaths } from "./container-paths.ts";
import { bucketKeys } from "./keys.ts";
import type { SageMakerProfile } from "./launcher.ts";

export const SPEC_TAG = "understudy:specHash";
/** An environment variable with this start and a secret's name holds the ARN it is fetched by. */
export const SECRET_VARIABLE = "UNDERSTUDY_SECRET_";

/** What a request is made of, besides the profile. */
export interface RequestParts {
  readonly job: Job;
  readonly attempt: AttemptContext;
  readonly paths: ContainerPaths;
  readonly template: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The request of CreateTrainingJob. The name is the marker: a second one of the same name is refused by the service. */
export const trainingJobRequest = (
  profile: SageMakerProfile,
  parts: RequestParts,
): CreateTrainingJobRequest => {
  const { job, attempt, paths, environment } = parts;
  const keys = bucketKeys(profile);
  const uri = (key: string): string => `s3://${profile.bucket}/${key}`;
  const encrypted = profile.kmsKey !== undefined && !hasOwnDisks(profile.instanceType);
  const request: CreateTrainingJobRequest = {
    TrainingJobName: attempt.marker,
    RoleArn: profile.role,
    AlgorithmSpecification: {
      TrainingImage: profile.image,
      TrainingInputMode: "File",
      ...entry(parts, profile),
    },
    InputDataConfig: [
      jobChannel(uri(keys.attempt(job.runId, attempt.number))),
      ...paths.channels().map((channel) => inputChannel(channel, { profile, parts, uri })),
    ],
    OutputDataConfig: {
      S3OutputPath: uri(keys.archive(job.runId)),
      ...(profile.kmsKey === undefined ? {} : { KmsKeyId: profile.kmsKey }),
    },
    CheckpointConfig: { S3Uri: `${uri(keys.run(job.runId))}/`, LocalPath: CHECKPOINTS },
    ResourceConfig: {
      InstanceType: instanceType(profile.instanceType),
      InstanceCount: profile.instances,
      VolumeSizeInGB: profile.volumeGigabytes,
      ...(encrypted && profile.kmsKey !== undefined ? { VolumeKmsKeyId: profile.kmsKey } : {}),
      ...(profile.trainingPlan === undefined ? {} : { TrainingPlanArn: profile.trainingPlan }),
    },
    StoppingCondition: {
      MaxRuntimeInSeconds: profile.maxRuntimeSeconds,
      ...(profile.spot === undefined ? {} : { MaxWaitTimeInSeconds: profile.spot.maxWaitSeconds }),
    },
    EnableManagedSpotTraining: profile.spot !== undefined,
    EnableNetworkIsolation: false,
    ...(profile.subnets.length === 0
      ? {}
      : { VpcConfig: { Subnets: profile.subnets, SecurityGroupIds: profile.securityGroups } }),
    Environment: { ...environment },
  };
  return { ...request, Tags: tags(profile, parts, specHash(request, parts.template)) };
};

/** The key of a channel's list of files, below the attempt's folder. */
export const channelList = (folder: string, name: string): string => `${folder}/channel-${name}.json`;

/** The text of a channel's list of files, in the service's own form. */
export const channelListText = (bucket: string, key: string, only: readonly string[]): string =>
  `${JSON.stringify([{ prefix: `s3://${bucket}/${key}${key === "" ? "" : "/"}` }, ...only.toSorted()], null, 2)}\n`;

/** Disks of their own are encrypted by the instance: with a key for the volume the request is refused. */
export const hasOwnDisks = (type: string): boolean =>
  /^ml\.(p4d|p4de|p5|p5e|p5en|p6[a-z0-9-]*|g4dn|g5|g6|g6e|gr6|trn1|trn1n|trn2|[cmr]\d+g?d)\./.test(type);

// The list of instance types grows faster than any client: what the profile says is sent.
function instanceType(
  type: string,
): NonNullable<NonNullable<CreateTrainingJobRequest["ResourceConfig"]>["InstanceType"]> {
  if (isInstanceType(type)) return type;
  throw new TypeError(`"${type}" is no instance type of this service`);
}
const isInstanceType = (
  type: string,
): type is NonNullable<NonNullable<CreateTrainingJobRequest["ResourceConfig"]>["InstanceType"]> =>
  /^ml\.[a-z0-9-]+\.[a-z0-9]+$/.test(type);

// Constant text; the archive comes as an argument. The service takes 256 characters.
const UNPACK =
  'd=/tmp/understudy-payload;case $1 in *.zip)m=zipfile;;*)m=tarfile;;esac;python3 -m $m -e "$1" $d&&PYTHONPATH=$d exec python3 -m understudy_payload.sagemaker';

/** How the container is started: our adapter, out of the image, the payload's channel, or an archive in it. */
export const entry = (
  { job, paths }: Pick<RequestParts, "job" | "paths">,
  profile: SageMakerProfile,
): { readonly ContainerEntrypoint: string[]; readonly ContainerArguments?: string[] } => {
  const archive = profile.imageHasPayload ? undefined : archiveOf(job);
  return archive === undefined
    ? { ContainerEntrypoint: [job.python, "-m", "understudy_payload.sagemaker"] }
    : {
        ContainerEntrypoint: ["/bin/sh", "-c", UNPACK, "understudy"],
        ContainerArguments: [paths.inside(`s3://${profile.bucket}/${keyOf(archive, profile)}`)],
      };
};

/** The payload as one file, if it is sent so. */
export const archiveOf = (job: Job): string | undefined => {
  const files = job.inputs.filter(({ role }) => role === "payload");
  const [only] = files;
  return files.length === 1 && only !== undefined && /\.(zip|tar\.gz|tgz)$/.test(only.path)
    ? only.path
    : undefined;
};

function jobChannel(uri: string): InputChannel {
  return {
    ChannelName: "job",
    InputMode: "File",
    DataSource: {
      S3DataSource: { S3DataType: "S3Prefix", S3Uri: `${uri}/`, S3DataDistributionType: "FullyReplicated" },
    },
  };
}

function inputChannel(
  { name, key, only, how }: Channel,
  {
    profile,
    parts,
    uri,
  }: {
    readonly profile: SageMakerProfile;
    readonly parts: RequestParts;
    readonly uri: (key: string) => string;
  },
): InputChannel {
  if (how === "mounted" && profile.input.from === "fsx") {
    const { fileSystemId, directoryPath } = profile.input;
    return {
      ChannelName: name,
      DataSource: {
        FileSystemDataSource: {
          FileSystemId: fileSystemId,
          FileSystemType: "FSxLustre",
          FileSystemAccessMode: "ro",
          // Its folders are named as the keys below the prefix are.
          DirectoryPath: [directoryPath.replace(/\/+$/, ""), belowPrefix(key, profile)].join("/"),
        },
      },
    };
  }
  const folder = bucketKeys(profile).attempt(parts.job.runId, parts.attempt.number);
  return {
    ChannelName: name,
    InputMode: how === "streamed" ? "FastFile" : "File",
    DataSource: {
      S3DataSource: {
        S3DataDistributionType: "FullyReplicated",
        ...(only === null
          ? { S3DataType: "S3Prefix", S3Uri: `${uri(key)}/` }
          : { S3DataType: "ManifestFile", S3Uri: uri(channelList(folder, name)) }),
      },
    },
  };
}

const belowPrefix = (key: string, { prefix }: SageMakerProfile): string => {
  const start = `${prefix.replaceAll(/^\/+|\/+$/g, "")}/`;
  return key.startsWith(start) ? key.slice(start.length) : key;
};

/** Identifies what a job of this name is asked to do. */
const specHash = (request: CreateTrainingJobRequest, template: string): string =>
  digestOf({ request, template: sha256(template) }).slice(0, 32);

function tags(
  profile: SageMakerProfile,
  { job, attempt }: RequestParts,
  hash: string,
): { Key: string; Value: string }[] {
  const own = {
    ...profile.tags,
    "understudy:run": job.runId,
    "understudy:attempt": String(attempt.number),
    [SPEC_TAG]: hash,
  };
  return Object.entries(own).map(([Key, Value]) => ({ Key, Value }));
}
